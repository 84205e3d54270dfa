import type { Clock } from '../kernel/clock.js';
import type { Duration } from '../kernel/durations.js';
import type { Random } from '../kernel/ids.js';
import type { Listener, Queryable } from '../ports/database.js';
import type { EffectDefinition } from '../ports/effect-definition.js';
import type { EffectKind } from '../ports/effect-kind.js';
import type { Observer } from '../ports/telemetry.js';
import type { BreakerOptions, TargetLimits } from './target-limits.js';

/**
 * What `AI_ACTIONS_ENABLED` says in the environment of this process; the floor under every switch.
 * `enabled`: nothing more is held. `unset` (or unreadable): effects decided by agents are held. `disabled`: those of undeclared actors too.
 */
export type AiActions = 'enabled' | 'unset' | 'disabled';

/** Options of {@link createRelay}. */
export interface RelayOptions {
  /** A pool: each statement commits by itself and the relay never holds a connection while it waits. E.g. `pgStandalone(pool)`. Let the pool bound its connecting (`connectionTimeoutMillis` of `pg`): a connection that falls silent while it is opened cannot be given up from outside. */
  readonly database: Queryable;
  /** Wake-up hints, e.g. `pgListener({ connectionString })`. Without it the relay only polls. */
  readonly listener?: Listener;
  /** The kinds that this relay executes. */
  readonly effects: readonly (EffectKind | EffectDefinition<never>)[];
  /** Limits per target, shared by all relays of the database, e.g. `{ payments: { ratePerSecond: 50, concurrency: 20 } }`. Default: none. */
  readonly targets?: Readonly<Record<string, TargetLimits>>;
  /** When breakers open, and for how long. */
  readonly breaker?: BreakerOptions;
  /** Name of the schema. Default: `comanda`. */
  readonly schema?: string;
  /**
   * Name of the environment that this relay is configured for, e.g. `production`. It acts only on an installation of that name; without it, only a copied
   * or moved database is recognised.
   */
  readonly environment?: string;
  /** Where this relay reaches PostgreSQL: `host:port/database`, never with login or password. It acts only where that is the adopted place. */
  readonly endpoint?: string;
  /** Default: `unset`, which holds what agents decided. */
  readonly aiActions?: AiActions;
  /** How long a claim is held without renewal. Default 30 s; it is renewed at a third. 500 ms to 1 h. */
  readonly lease?: Duration;
  /** How long a claim is renewed at most. Default 15 min. */
  readonly leaseMaxLife?: Duration;
  /** How often the relay looks at the tables when nothing wakes it. Default 1 s. */
  readonly safetyPoll?: Duration;
  /** How long running effects may go on after stop(). Default 30 s. */
  readonly shutdownGrace?: Duration;
  /** Effects of one ordering key that are claimed together. Default 10; kinds whose target knows no key always 1. */
  readonly batch?: number;
  /** Version of the program, shown with the relay. */
  readonly softwareVersion?: string;
  readonly observer?: Observer;
  /** For tests. Default: the host's clock. Leases are judged by the database's clock in any case. */
  readonly clock?: Clock;
  /** For tests. */
  readonly random?: Random;
}

/** A relay: executes decided effects until it is stopped. */
export interface Relay {
  /** Random, new at each start: an owner is never mistaken for its predecessor. */
  readonly id: string;
  /**
   * Checks versions and the safety of the kinds, then works in the background until {@link stop}.
   *
   * @throws ComandaError COMANDA_SCHEMA_MISSING, COMANDA_SCHEMA_VERSION, COMANDA_UNSAFE_EFFECT, COMANDA_INVALID_CONFIG
   */
  start(): Promise<void>;
  /**
   * Stops claiming, lets running effects finish within the grace, aborts the rest, releases what was not sent, writes every outcome. Idempotent; also during start().
   */
  stop(): Promise<void>;
  /** Works until nothing that this relay could execute is due, then resolves. For tests and scripts. */
  drain(options?: { readonly within?: Duration }): Promise<void>;
  /** What it is doing now. */
  status(): RelayStatus;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A look at a running relay. */
export interface RelayStatus {
  readonly state: 'new' | 'starting' | 'running' | 'stopping' | 'stopped';
  readonly lanes: number;
  readonly listening: boolean;
  readonly switchVersion: string;
  /** Why it acts on nothing, or on less than it could; null while it works. */
  readonly holds: string | null;
  /** Monotonic milliseconds since the last successful look at the database. */
  readonly sinceLastPollMs: number;
  /** Monotonic milliseconds since the last heartbeat that the database took. */
  readonly sinceLastBeatMs: number;
  /** Monotonic milliseconds since a lane was last settled, or since the start. */
  readonly sinceLastEndMs: number;
}
