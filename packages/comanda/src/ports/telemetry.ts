/** By which an effect is found again in every log and every table. */
export interface EffectReference {
  readonly effectId: string;
  /** Key of the decision, e.g. `refund:ORD-2041`. */
  readonly decisionKey: string;
  readonly idempotencyKey: string;
  readonly kind: string;
  readonly target: string;
  readonly lane: string;
  readonly attempt: number;
  readonly fence: string;
  /** From the `traceparent` that was stored with the effect. */
  readonly traceId?: string;
}

/** What the relay reports while it works. Counters come from SQL; these are for logs, tests and live boards. */
export type RelayEvent =
  | { readonly type: 'started'; readonly relayId: string; readonly kinds: readonly string[] }
  | { readonly type: 'claimed'; readonly lanes: number; readonly effects: number }
  | (EffectReference & {
      readonly type: 'attempt';
      readonly outcome: string;
      readonly ms: number;
      /** As stored: masked and cut. */
      readonly errorClass?: string;
      readonly errorText?: string;
    })
  | { readonly type: 'settled'; readonly lanes: number; readonly fenced: number }
  | (EffectReference & { readonly type: 'lease_lost'; readonly late: string })
  | { readonly type: 'listen'; readonly up: boolean; readonly reason?: string }
  /** It acts on nothing, or on less than it could; said once per reason. */
  | { readonly type: 'held'; readonly reason: string }
  /** What it was held for is over. */
  | { readonly type: 'resumed' }
  | {
      readonly type: 'target';
      readonly target: string;
      readonly breaker: 'closed' | 'open' | 'half_open';
      /** Until the next probe. */
      readonly waitMs: number;
    }
  | { readonly type: 'warning'; readonly code: string; readonly message: string; readonly error?: unknown }
  /** What a `warning` of that code said is over: how often it failed in a row, and since when. */
  | { readonly type: 'recovered'; readonly code: string; readonly times: number; readonly ms: number }
  | { readonly type: 'stopped'; readonly relayId: string };

/** Receives relay events. Must not throw; a throwing observer is ignored. */
export type Observer = (event: RelayEvent) => void;
