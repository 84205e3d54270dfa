import { Stop } from '../kernel/stop.js';
import type { EffectKind } from '../ports/effect-kind.js';
import type { ReconcileResult } from '../ports/outcome.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import { contextOf, inputOf } from './context.js';
import { timeoutError } from './dispatch.js';
import type { RelayEnvironment } from './environment.js';
import { thrownEvidence } from './evidence.js';

const FOUND: ReadonlySet<unknown> = new Set(['applied', 'absent', 'cannotTell']);

/** Whether an uncertain outcome of the kind is looked up; otherwise it stands before a person. */
export function isLookedUp({ reconcile, onUnknown }: Pick<EffectKind, 'reconcile' | 'onUnknown'>): boolean {
  return reconcile !== undefined && onUnknown !== 'ask-human';
}

/**
 * Asks the provider what became of an uncertain attempt. The only place that calls `reconcile`. Runs under the lane's lease, and begins only after
 * lease end + timeout of that attempt: earlier, `absent` would prove nothing.
 */
export function lookUp(env: RelayEnvironment, lane: ClaimedLane, effect: ClaimedEffect): Promise<ReconcileResult> {
  const { timeoutMs } = lane.kind;
  const look = new Stop();
  return new Promise((resolve) => {
    const stopped = (reason: Error): void => {
      look.stop(reason);
      end({ found: 'cannotTell', errorClass: 'aborted', errorText: reason.message });
    };
    const timer = env.clock.after(timeoutMs, () => stopped(timeoutError(timeoutMs)));
    const end = (result: ReconcileResult): void => {
      timer.cancel();
      lane.stop.remove(stopped);
      resolve(result);
    };
    lane.stop.add(stopped);
    void ask(lane, effect, contextOf(lane, effect, look, env.clock.monotonicMs() + timeoutMs)).then(end);
  });
}

async function ask(
  lane: ClaimedLane,
  effect: ClaimedEffect,
  context: Parameters<ClaimedLane['kind']['perform']>[1],
): Promise<ReconcileResult> {
  try {
    const result = await lane.kind.reconcile?.(inputOf(effect), context);
    return result !== undefined && FOUND.has(result.found) ? result : { found: 'cannotTell', errorClass: 'no_answer' };
  } catch (error) {
    return { found: 'cannotTell', ...thrownEvidence(error) };
  }
}
