import type { Idempotency, KeyContract } from './idempotency.js';
import type { Outcome, ReconcileResult } from './outcome.js';

export type { Idempotency } from './idempotency.js';

/** What a handler is told about the attempt it runs. It is given no database handle: nothing can be locked while it waits (P5). */
export interface PerformContext {
  /** The key fixed when the decision was stored; the same on every attempt. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Grows at each claim and is never reset; targets that compare fences can refuse older ones. */
  readonly fence: string;
  /** The payload exactly as stored: `jsonb::text`. Send this, not a re-serialised object, so that no digit changes. */
  readonly payloadText: string;
  /** Fires before the lease ends, on shutdown after the grace, and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Monotonic deadline, in milliseconds of `performance.now()`: no first byte may leave after it. */
  readonly sendBy: number;
  /** Milliseconds the attempt may take in all. */
  readonly timeoutMs: number;
  /** Subject of the decision, e.g. `order:ORD-2041`; empty string when none was given. */
  readonly subject: string;
  /** Version of the subject the effect was decided for, as digits, or `null`. */
  readonly subjectVersion: string | null;
  /**
   * How the target recognises a repetition of this attempt. That of the kind, except that a `key` kind whose key may be forgotten by now is treated as `none`:
   * an attempt without an answer is then unknown, never repeated.
   */
  readonly idempotency: Idempotency;
  /** Headers stored with the effect, trace context among them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Whether an effect can be taken back. */
export type Risk = 'reversible' | 'irreversible';

/** Everything the relay needs to know to execute effects of one kind. */
export interface EffectKind {
  readonly kind: string;
  /** Destination: breaker, limits and switch are per target. Default: the kind. */
  readonly target: string;
  readonly version: number;
  readonly risk: Risk;
  readonly idempotency: Idempotency;
  /** What the target guarantees about keys. Kinds with idempotency `key` only; without it the defaults of a `KeyProfile` hold. */
  readonly key?: KeyContract;
  /** What to do with an unknown outcome when there is no `reconcile`. */
  readonly onUnknown: 'reconcile' | 'ask-human';
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  /** Effects of this kind one relay executes at the same time. */
  readonly concurrency: number;
  /** `skip`: an effect with an older subject version than one decided since for the same subject is cancelled at its turn, unsent. Only for kinds that carry the whole state. Default `send`. */
  readonly stale?: 'send' | 'skip';
  /** Milliseconds after which an effect that was never sent is cancelled at its turn: too late to be of use. Counted from its decision, or from when it was due. Default: never. */
  readonly maxAgeMs?: number;
  /** Checks and parses the payload at claim; a refusal ends the effect `failed (validation)`, unsent. */
  readonly validate?: (input: unknown) => Promise<readonly string[]>;
  /** Dotted paths whose values are masked in stored evidence. */
  readonly redact: readonly string[];
  perform(input: unknown, context: PerformContext): Promise<Outcome>;
  reconcile?(input: unknown, context: PerformContext): Promise<ReconcileResult>;
}
