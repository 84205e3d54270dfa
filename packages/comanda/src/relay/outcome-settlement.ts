import { retryDelayMs } from '../kernel/backoff.js';
import { RETRY_AFTER_MAX_MS } from '../kernel/limits.js';
import type { AttemptRecord, EndedRecord } from '../outbox/engine.js';
import type { Idempotency } from '../ports/effect-kind.js';
import type { Retry, Unknown } from '../ports/outcome.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import type { RelayEnvironment } from './environment.js';
import { reasonOf } from './evidence.js';
import { isLookedUp } from './reconcile-effect.js';
import type { Settlement } from './settler.js';

type Decision = { readonly settlement: Settlement } | { readonly ended: EndedRecord };

/**
 * What an attempt that did not end its effect means for the lane.
 *
 * - certainly not applied: `retry` with back-off;
 * - may be applied, and the target recognises a repetition: `unsure`; a `natural` kind waits for lease end + timeout first;
 * - may be applied, and it does not: `unknown`, looked up after lease end + timeout, or put before a person;
 * - attempts exhausted: `failed` when nothing can have been applied, unknown when something may.
 */
export function settlementOf(
  env: RelayEnvironment,
  lane: ClaimedLane,
  effect: ClaimedEffect,
  outcome: Retry | Unknown,
  record: AttemptRecord & { readonly pos: string },
  { idempotency, stopping }: { readonly idempotency: Idempotency; readonly stopping: boolean },
): Decision {
  const { kind } = lane;
  const { row } = effect;
  const { pos, ...head } = record;
  const settledMs = env.leaseMs + kind.timeoutMs;
  if (outcome.outcome === 'unknown') return { settlement: { ...unknownHead(lane, settledMs), head } };

  // What an abort of ours interrupted is not the effect's fault.
  const burns = outcome.burnsAttempt !== false && !(stopping && lane.stop.reason !== undefined);
  const delayMs = retryDelayMs(
    Math.max(row.attempt, 1),
    { baseMs: kind.backoffBaseMs, maxMs: kind.backoffMaxMs },
    env.random(),
    boundedWaitMs(outcome.afterMs ?? 0),
  );
  const certain = outcome.notSent;
  if (burns && row.attempt >= kind.maxAttempts) {
    if (certain && !row.suspect)
      return {
        ended: {
          ...record,
          pos,
          state: 'failed',
          outcome: 'failed',
          reason: `attempts exhausted (${row.attempt}): ${reasonOf(record)}`,
        },
      };
    return { settlement: { ...unknownHead(lane, settledMs), head: { ...head, outcome: 'unknown' } } };
  }
  if (certain) return { settlement: { mode: 'retry', delayMs, giveBack: !burns, head } };
  // `retry` of a non-idempotent kind that may have left: the handler's word is not enough to send it again.
  if (idempotency === 'none')
    return { settlement: { ...unknownHead(lane, settledMs), head: { ...head, outcome: 'unknown' } } };
  return {
    settlement: {
      mode: 'unsure',
      delayMs: idempotency === 'natural' ? Math.max(delayMs, settledMs) : delayMs,
      giveBack: !burns,
      head,
    },
  };
}

/** What a handler asked to wait, in milliseconds, within reason: nonsense is no wait, and nothing waits for ever. */
export function boundedWaitMs(ms: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS) : 0;
}

/** May have been applied, and the target would not recognise a repetition: looked up when nothing can be under way any more, or put before a person. */
export function unknownHead(lane: ClaimedLane, delayMs: number, why = 'it may have happened'): Settlement {
  return isLookedUp(lane.kind)
    ? { mode: 'unknown', delayMs }
    : { mode: 'block', trouble: 'unknown', reason: `unknown: ${why} and only a person can tell` };
}
