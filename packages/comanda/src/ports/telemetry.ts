/** What the relay reports while it works. Counters come from SQL; these are for logs, tests and live boards. */
export type RelayEvent =
  | { readonly type: 'started'; readonly relayId: string; readonly kinds: readonly string[] }
  | { readonly type: 'claimed'; readonly lanes: number; readonly effects: number }
  | {
      readonly type: 'attempt';
      readonly effectId: string;
      readonly kind: string;
      readonly attempt: number;
      readonly outcome: string;
      readonly ms: number;
    }
  | { readonly type: 'settled'; readonly lanes: number; readonly fenced: number }
  | { readonly type: 'lease_lost'; readonly lane: string; readonly effectId: string; readonly late: string }
  | { readonly type: 'listen'; readonly up: boolean; readonly reason?: string }
  /** It acts on nothing, or on less than it could; said once per reason. */
  | { readonly type: 'held'; readonly reason: string }
  /** What it was held for is over. */
  | { readonly type: 'resumed' }
  | { readonly type: 'warning'; readonly code: string; readonly message: string; readonly error?: unknown }
  | { readonly type: 'stopped'; readonly relayId: string };

/** Receives relay events. Must not throw; a throwing observer is ignored. */
export type Observer = (event: RelayEvent) => void;
