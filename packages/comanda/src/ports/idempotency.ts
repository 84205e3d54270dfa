import type { Duration } from '../kernel/durations.js';

/** How a target recognises a repeated request: by a key that it remembers, because the act repeats without harm by its nature (a PUT of the whole state), or not at all. */
export type Idempotency = 'key' | 'natural' | 'none';

/** Where the key travels: a header, or a property of the JSON body at that pointer. */
export type KeyCarrier = { readonly header: string } | { readonly body: string };

/**
 * What a target guarantees about idempotency keys, as its documentation says it. Presets of well-known providers are in `profiles`.
 * `idempotency: 'key'` alone means {@link KeyProfile} with its defaults.
 */
export interface KeyProfile {
  readonly mode: 'key';
  /** Default: the header `Idempotency-Key`. */
  readonly carrier?: KeyCarrier;
  /** How long the target remembers a key, from its first use. Default `24h`. `forever` only where the target says so. */
  readonly lifetime?: Duration | 'forever';
  /**
   * Part of the lifetime that is not used, for clocks and requests under way: an attempt later than the first claim + lifetime − margin is treated as one to a target
   * without keys. Must be longer than lease + timeout. Default: a fifth of the lifetime, at least 2 min and at most 30 min.
   */
  readonly margin?: Duration;
  /** Longest key the target accepts, in bytes. A longer one travels as its SHA-256. Default 255. */
  readonly keyMaxBytes?: number;
  /** What 409 says: an earlier request with this key is still at work (look again), or a conflict of the resource (failed). Default `in-progress`. */
  readonly conflict?: 'in-progress' | 'failed';
  /** What the target does when a key comes again with another body. For the record: our body bytes never change. Default `refused`. */
  readonly bodyMismatch?: 'refused' | 'ignored' | 'new-operation';
  /** Which answers it stores and replays. `any-status` (a stored 500 stays a 500) or `success` (a failure frees the key). Default `any-status`. */
  readonly replays?: 'any-status' | 'success';
}

/** A {@link KeyProfile} with every default filled in. */
export interface KeyContract {
  readonly carrier: KeyCarrier;
  /** Milliseconds; `Infinity` when the target never forgets. */
  readonly lifetimeMs: number;
  readonly marginMs: number;
  readonly keyMaxBytes: number;
  readonly conflict: 'in-progress' | 'failed';
  readonly bodyMismatch: 'refused' | 'ignored' | 'new-operation';
  readonly replays: 'any-status' | 'success';
}
