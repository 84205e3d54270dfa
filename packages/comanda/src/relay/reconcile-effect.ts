import type { ReconcileResult } from '../ports/outcome.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import { contextOf, inputOf } from './context.js';
import type { RelayEnvironment } from './environment.js';
import { thrownEvidence } from './evidence.js';

/**
 * Asks the provider what became of an uncertain attempt. The only place that calls `reconcile`. Runs under the lane's lease, and begins only after
 * lease end + timeout of that attempt: earlier, `absent` would prove nothing.
 */
export async function lookUp(
  env: RelayEnvironment,
  lane: ClaimedLane,
  effect: ClaimedEffect,
): Promise<ReconcileResult> {
  const { kind } = lane;
  const controller = new AbortController();
  const stop = (): void => controller.abort(lane.abort.signal.reason);
  lane.abort.signal.addEventListener('abort', stop, { once: true });
  const timer = env.clock.after(kind.timeoutMs, () => controller.abort(new Error(`timeout of ${kind.timeoutMs} ms`)));
  try {
    const context = contextOf(lane, effect, controller.signal, env.clock.monotonicMs() + kind.timeoutMs);
    const late = new Promise<ReconcileResult>((resolve) => {
      controller.signal.addEventListener(
        'abort',
        () => resolve({ found: 'cannotTell', errorClass: 'timeout', errorText: 'the look-up took too long' }),
        { once: true },
      );
    });
    const result = await Promise.race([kind.reconcile?.(inputOf(effect), context), late]);
    return result !== undefined && ['applied', 'absent', 'cannotTell'].includes(result.found)
      ? result
      : { found: 'cannotTell', errorClass: 'no_answer' };
  } catch (error) {
    return { found: 'cannotTell', ...thrownEvidence(error) };
  } finally {
    timer.cancel();
    lane.abort.signal.removeEventListener('abort', stop);
  }
}
