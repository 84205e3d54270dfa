import type { Idempotency } from '../../src/ports/effect-kind.js';

/** The unit of the model's time: so long that what a run takes in real time never counts. All durations are whole numbers of it. */
export const UNIT_MS = 1_000_000;
export const LEASE = 3;
export const TIMEOUT = 2;
/** How long the provider remembers a key, and how much sooner the product stops to trust it: more than lease + timeout. */
export const LIFETIME = 16;
export const MARGIN = 6;
/** After which nothing of an attempt that leaves now can be under way (DESIGN 6). */
export const SETTLED = LEASE + TIMEOUT;

/** What a kind promises, as the contract in DESIGN 6 has it. */
export interface Kind {
  readonly kind: string;
  readonly target: string;
  readonly idempotency: Idempotency;
  /** A key that is forgotten. */
  readonly forgets: boolean;
  readonly reconcile: boolean;
}

export const KINDS: readonly Kind[] = [
  { kind: 'charge', target: 'bank', idempotency: 'key', forgets: true, reconcile: true },
  { kind: 'notify', target: 'push', idempotency: 'key', forgets: false, reconcile: false },
  { kind: 'sync', target: 'crm', idempotency: 'natural', forgets: false, reconcile: false },
  { kind: 'mail', target: 'smtp', idempotency: 'none', forgets: false, reconcile: true },
  { kind: 'letter', target: 'bank', idempotency: 'none', forgets: false, reconcile: false },
];

export const RELAYS = ['r1', 'r2', 'r3'] as const;
export const LANES = ['a', 'b'] as const;

/** Who decides: what the scopes of the switch look at. */
export interface Author {
  readonly actor?: { readonly type: 'human' | 'agent' | 'system'; readonly id: string };
  readonly tenant?: string;
}

export const AUTHORS: readonly Author[] = [
  {},
  { actor: { type: 'human', id: 'ada' } },
  { actor: { type: 'agent', id: 'bot' } },
  { actor: { type: 'human', id: 'ada' }, tenant: 'acme' },
];

export const SCOPES = [
  'all',
  'kind:mail',
  'kind:charge',
  'target:bank',
  'tenant:acme',
  'actor:agent',
  'agent:bot',
] as const;
export type Scope = (typeof SCOPES)[number];
export const MODES = ['run', 'hold', 'drain', 'stop'] as const;
export type Mode = (typeof MODES)[number];
