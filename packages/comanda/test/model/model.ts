import type { EffectState } from '../../src/kernel/states.js';
import { type Author, type Kind, LIFETIME, MARGIN, type Mode, type Scope } from './terms.js';

/** A request on its way to the provider, and what became of it. */
export interface Wire {
  readonly effect: Effect;
  readonly fence: number;
  /** Later than this it cannot arrive: lease end + timeout (P3 names the exception). */
  readonly until: number;
  fate: 'flying' | 'accepted' | 'lost';
  /** The product has a word about it: certainly not applied, looked up, or said by a person. */
  resolved: boolean;
}

/** An effect as the contract sees it. */
export interface Effect {
  readonly id: number;
  readonly run: string;
  readonly name: string;
  readonly kind: Kind;
  readonly lane: string;
  readonly keyed: boolean;
  readonly by: Author;
  decidedAt: number;
  place: 'waiting' | 'arrived' | 'queued' | 'ended';
  /** Its place in the order of its lane; 0 while it waits. */
  pos: number;
  /** When what waits is due. */
  dueAt: number;
  /** An earlier attempt may have been applied, as far as the product can know. */
  doubt: boolean;
  /** When it was first allowed to leave. */
  firstGo: number | undefined;
  /** A late answer says that it happened. */
  evidence: boolean;
  end: { readonly state: 'completed' | 'failed' | 'cancelled'; readonly maybe: boolean } | undefined;
  /** A cancel stands unanswered. */
  cancelAsked: boolean;
  /** The provider's book: when it was applied, each time. */
  readonly applied: number[];
  /** The provider's book: it was asked with a key that it remembered. */
  replays: number;
}

/** A sequence of effects that happen one after the other. */
export interface Lane {
  readonly name: string;
  queue: Effect[];
  holder: { readonly relay: string; until: number; readonly inflight: Set<Effect> } | undefined;
  fence: number;
  dueAt: number;
  parked: string | undefined;
  trouble: 'unknown' | 'failed' | undefined;
  firstAt: number | undefined;
}

/** An act that a person asked for and that stands open. */
export interface Asked {
  readonly id: number;
  readonly effect: Effect;
  readonly action: 'skip' | 'redrive' | 'release' | 'resolve';
  readonly as: 'completed' | 'failed' | 'pending' | undefined;
}

/** Everything the contract speaks about, in memory. */
export interface Model {
  now: number;
  readonly effects: Map<number, Effect>;
  readonly lanes: Map<string, Lane>;
  readonly runs: Map<string, string>;
  readonly wires: Wire[];
  readonly switches: Map<Scope, { readonly mode: Mode; readonly since: number }>;
  /** How the installation differs from the one that was adopted. */
  copy: 'none' | 'database' | 'timeline';
  asked: Asked[];
  /** The highest fence of each lane that was ever seen. */
  readonly fences: Map<string, number>;
  /** Events so far: the order of things within one moment. */
  step: number;
}

export function newModel(): Model {
  return {
    now: 0,
    effects: new Map(),
    lanes: new Map(),
    runs: new Map(),
    wires: [],
    switches: new Map([['all', { mode: 'run', since: 0 }]]),
    copy: 'none',
    asked: [],
    fences: new Map(),
    step: 0,
  };
}

/** The state of an effect in the product's words. */
export function stateOf(m: Model, e: Effect): EffectState {
  if (e.place === 'waiting') return 'waiting';
  if (e.place === 'arrived') return 'pending';
  if (e.place === 'ended') return e.end?.state ?? 'pending';
  const lane = m.lanes.get(e.lane);
  if (lane?.queue[0] === e && lane.trouble !== undefined) return lane.trouble;
  return lane?.holder?.inflight.has(e) === true ? 'sending' : 'pending';
}

/** Scopes that cover an effect and are in one of these modes. */
export function covering(m: Model, e: Effect, modes: readonly Mode[]): Scope[] {
  const covers = (scope: Scope): boolean => {
    const [what = '', name = ''] = scope.split(':');
    if (what === 'all') return true;
    if (what === 'kind') return e.kind.kind === name;
    if (what === 'target') return e.kind.target === name;
    if (what === 'tenant') return e.by.tenant === name;
    if (what === 'agent') return e.by.actor?.type === 'agent' && e.by.actor.id === name;
    return e.by.actor?.type === name;
  };
  return [...m.switches].filter(([scope, { mode }]) => modes.includes(mode) && covers(scope)).map(([scope]) => scope);
}

/** What the whole scope of a claim says: is the kind off, is its target? */
export function isOff(m: Model, scope: Scope | string): boolean {
  const found = m.switches.get(scope as Scope);
  return found !== undefined && found.mode !== 'run';
}

/** May nothing of this kind be claimed? */
export function kindIsOff(m: Model, kind: Kind): boolean {
  return isOff(m, 'all') || isOff(m, `kind:${kind.kind}`) || m.copy === 'database' || isMoved(m, kind);
}

export function isMoved(m: Model, kind: Kind): boolean {
  return m.copy === 'timeline' && kind.idempotency !== 'key';
}

/** Is the effect's key one that the provider may have forgotten? */
export function isForgotten(m: Model, e: Effect, since: number | undefined): boolean {
  return e.kind.forgets && since !== undefined && since + LIFETIME - MARGIN <= m.now;
}

export const flying = (m: Model, e: Effect): Wire[] =>
  m.wires.filter((w) => w.effect === e && w.fate === 'flying' && m.now < w.until);

/** A request reaches the provider. Its book is the judge of P3. */
export function accept(m: Model, wire: Wire): void {
  const e = wire.effect;
  wire.fate = 'accepted';
  const known = e.applied.at(-1);
  if (e.kind.idempotency === 'key' && known !== undefined && (!e.kind.forgets || m.now < known + LIFETIME)) {
    e.replays += 1;
    return;
  }
  if (known !== undefined && e.kind.idempotency !== 'natural')
    throw new Error(`effect ${e.id} (${e.kind.kind}) happened twice: at ${known} and at ${m.now}`);
  if (e.end?.state === 'cancelled') throw new Error(`effect ${e.id} was cancelled and happened`);
  if (known === undefined && e.end === undefined) {
    const overtaken = [...m.effects.values()].find(
      (o) => o.keyed && o.lane === e.lane && o.place === 'queued' && o.pos < e.pos && o.applied.length === 0,
    );
    if (overtaken !== undefined) throw new Error(`effect ${e.id} happened before ${overtaken.id} of the same lane`);
  }
  e.applied.push(m.now);
}
