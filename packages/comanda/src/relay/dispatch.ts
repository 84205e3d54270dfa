import type { Outcome } from '../ports/outcome.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import { contextOf, inputOf } from './context.js';
import { type RelayEnvironment, sendMarginMs } from './environment.js';
import { thrownEvidence } from './evidence.js';
import { isNotSent } from './outcomes.js';

/** How long a handler may ignore its abort signal before it is left behind. */
const ABORT_GRACE_MS = 1_000;

/**
 * Executes one effect. The only place in the product that calls `perform` (P8): whoever gets here has just been told `go` by the database.
 *
 * The signal fires at the effect's timeout, when the lease is lost, right before it would end, and when the relay stops. Whatever a handler does - throw anything,
 * never answer - the attempt ends with an outcome.
 */
export async function dispatch(env: RelayEnvironment, lane: ClaimedLane, effect: ClaimedEffect): Promise<Outcome> {
  const started = env.clock.monotonicMs();
  const attempt = new AbortController();
  const stop = (): void => attempt.abort(lane.abort.signal.reason);
  const timer = env.clock.after(lane.kind.timeoutMs, () =>
    attempt.abort(new Error(`timeout of ${lane.kind.timeoutMs} ms`)),
  );
  if (lane.abort.signal.aborted) stop();
  lane.abort.signal.addEventListener('abort', stop, { once: true });
  const sendBy = Math.min(lane.trustedUntil - sendMarginMs(env.leaseMs), started + lane.kind.timeoutMs);
  try {
    const context = contextOf(lane, effect, attempt.signal, sendBy);
    return await Promise.race([perform(lane, effect, context), abandoned(env, lane, attempt.signal)]);
  } finally {
    timer.cancel();
    lane.abort.signal.removeEventListener('abort', stop);
  }
}

async function perform(
  lane: ClaimedLane,
  effect: ClaimedEffect,
  context: Parameters<ClaimedLane['kind']['perform']>[1],
): Promise<Outcome> {
  try {
    const outcome = await lane.kind.perform(inputOf(effect), context);
    return isOutcome(outcome)
      ? outcome
      : uncertain(lane, { errorClass: 'no_outcome', errorText: `perform of ${lane.kind.kind} returned no outcome` });
  } catch (error) {
    const evidence = thrownEvidence(error);
    return isNotSent(error) ? { ...evidence, outcome: 'retry', notSent: true } : uncertain(lane, evidence);
  }
}

/** A handler that does not end after its signal is left behind; its late answer is lost, the attempt is uncertain. */
function abandoned(env: RelayEnvironment, lane: ClaimedLane, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const giveUp = (): void => {
      env.clock.after(ABORT_GRACE_MS, () => {
        const reason: unknown = signal.reason;
        resolve(
          uncertain(lane, { errorClass: 'aborted', errorText: reason instanceof Error ? reason.message : 'aborted' }),
        );
      });
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
}

/** It may have happened: repeated when the target recognises the repetition, unknown otherwise. */
function uncertain(lane: ClaimedLane, evidence: ReturnType<typeof thrownEvidence>): Outcome {
  return lane.kind.idempotency === 'none'
    ? { ...evidence, outcome: 'unknown' }
    : { ...evidence, outcome: 'retry', notSent: false };
}

function isOutcome(value: unknown): value is Outcome {
  return (
    typeof value === 'object' &&
    value !== null &&
    'outcome' in value &&
    ['completed', 'retry', 'failed', 'unknown'].includes(String(value.outcome))
  );
}
