import type { Stop } from '../kernel/stop.js';
import type { ClaimedRow, PayloadRow } from '../outbox/engine.js';
import type { EffectKind } from '../ports/effect-kind.js';

/** One effect of a claimed lane. */
export interface ClaimedEffect {
  readonly row: ClaimedRow;
  readonly payload: PayloadRow;
}

/**
 * A lease that this process holds on a lane. The fence travels with it: settling takes this, never an id (P4).
 */
export interface ClaimedLane {
  readonly lane: string;
  readonly fence: string;
  readonly kind: EffectKind;
  /** The head and what was claimed with it, in order. */
  effects: readonly ClaimedEffect[];
  /** Until when the lease can be trusted here: measured from before the claim was asked for, on the monotonic clock. */
  trustedUntil: number;
  /** When the lease was first held; renewals end at the maximum life. */
  readonly heldSince: number;
  /** Wall clock − monotonic clock at the claim: a machine that is suspended moves only the first of them. */
  readonly clockGapMs: number;
  /** It is looked up at the provider: that goes on while everything is off. */
  looking: boolean;
  /** It waits for its turn as a suspect: it needs no place meanwhile. */
  waiting: boolean;
  /** Fires when the lease is lost or about to end, and when the relay stops. */
  readonly stop: Stop;
}

/** Whether the lane has an ordering key: then what failed blocks what is behind it, visibly. */
export function isKeyed(lane: Pick<ClaimedLane, 'lane'>): boolean {
  return lane.lane.startsWith('k:');
}
