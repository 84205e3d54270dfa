import { Stop } from '../kernel/stop.js';
import type { Idempotency } from '../ports/effect-kind.js';
import type { Outcome } from '../ports/outcome.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import { contextOf, inputOf } from './context.js';
import { type RelayEnvironment, sendMarginMs } from './environment.js';
import { thrownEvidence } from './evidence.js';
import { isNotSent } from './outcomes.js';

/** How long a handler may ignore its abort signal before it is left behind. */
const ABORT_GRACE_MS = 1_000;
/** More than clocks drift apart within a lease. */
const SLEPT_MS = 1_000;

/**
 * Executes one effect. The only place in the product that calls `perform` (P8): whoever gets here has just been told `go` by the database.
 *
 * The signal fires at the effect's timeout, when the lease is lost, right before it would end, and when the relay stops. Whatever a handler does - throw anything,
 * never answer - the attempt ends with an outcome.
 */
export function dispatch(
  env: RelayEnvironment,
  lane: ClaimedLane,
  effect: ClaimedEffect,
  idempotency: Idempotency,
  late: (outcome: Outcome) => void,
): Promise<Outcome> {
  const { timeoutMs } = lane.kind;
  const sendBy = Math.min(lane.trustedUntil - sendMarginMs(env.leaseMs), env.clock.monotonicMs() + timeoutMs);
  // The answer `go` can have been long on its way. This process knows by its own clock that the turn is over: nothing is sent.
  if (lane.stop.reason !== undefined || env.clock.monotonicMs() >= sendBy || hasSlept(env, lane)) {
    const errorText = lane.stop.reason?.message ?? 'the answer of the database came too late';
    return Promise.resolve({
      outcome: 'retry',
      notSent: true,
      burnsAttempt: false,
      errorClass: 'turn_over',
      errorText,
    });
  }
  const attempt = new Stop();
  return new Promise((resolve) => {
    // A handler that does not end after its signal is left behind: the attempt is uncertain, its late answer is evidence.
    const stopped = (reason: Error): void => {
      attempt.stop(reason);
      env.clock.after(ABORT_GRACE_MS, () =>
        end(uncertain(idempotency, { errorClass: 'aborted', errorText: reason.message })),
      );
    };
    const timer = env.clock.after(timeoutMs, () => stopped(timeoutError(timeoutMs)));
    lane.stop.add(stopped);
    let over = false;
    const end = (outcome: Outcome): void => {
      if (over) return;
      over = true;
      timer.cancel();
      lane.stop.remove(stopped);
      resolve(outcome);
    };
    void perform(lane, effect, contextOf(lane, effect, attempt, sendBy, idempotency)).then((outcome) => {
      if (over) late(outcome);
      else end(outcome);
    });
  });
}

/** A suspended machine's monotonic clock stands still while the lease ends. A wall clock that is set forward looks the same, and costs one more claim. */
function hasSlept({ clock }: RelayEnvironment, lane: ClaimedLane): boolean {
  return clock.wallMs() - clock.monotonicMs() - lane.clockGapMs > SLEPT_MS;
}

async function perform(
  lane: ClaimedLane,
  effect: ClaimedEffect,
  context: Parameters<ClaimedLane['kind']['perform']>[1],
): Promise<Outcome> {
  try {
    const outcome = await lane.kind.perform(inputOf(effect), context);
    if (isOutcome(outcome)) return outcome;
    const { idempotency } = context;
    return uncertain(idempotency, {
      errorClass: 'no_outcome',
      errorText: `perform of ${lane.kind.kind} returned no outcome`,
    });
  } catch (error) {
    const evidence = thrownEvidence(error);
    return isNotSent(error)
      ? { ...evidence, outcome: 'retry', notSent: true }
      : uncertain(context.idempotency, evidence);
  }
}

/** It may have happened: repeated when the target recognises the repetition, unknown otherwise. */
function uncertain(idempotency: Idempotency, evidence: ReturnType<typeof thrownEvidence>): Outcome {
  return idempotency === 'none'
    ? { ...evidence, outcome: 'unknown' }
    : { ...evidence, outcome: 'retry', notSent: false };
}

/** Named as the platform names it, so that transports can tell it from a stop. */
export function timeoutError(timeoutMs: number): Error {
  return new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError');
}

const OUTCOMES: ReadonlySet<unknown> = new Set(['completed', 'retry', 'failed', 'unknown']);

function isOutcome(value: unknown): value is Outcome {
  return typeof value === 'object' && value !== null && 'outcome' in value && OUTCOMES.has(value.outcome);
}
