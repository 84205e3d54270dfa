import { WORKER_LOST_MAX } from '../kernel/limits.js';
import type { EndedRecord } from '../outbox/engine.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import { type EffectServices, runEffect, type Step } from './effect-step.js';
import type { Settlement, Settler } from './settler.js';
import type { RunSuspect } from './suspects.js';

/** What a lane needs from its relay while it runs. */
export interface LaneServices extends EffectServices {
  readonly settler: Settler;
  readonly runSuspect: RunSuspect;
}

/** Successes are written together at the end of the claimed prefix, or when the first of them has waited so long. */
const HOLD_SUCCESSES_MS = 100;

/**
 * Runs what was claimed of one lane: the head's prefix, one after the other, each judged, asked for, executed; stops at the first that does not succeed.
 * Resolves when everything is settled, or the lease is lost: what was learned is then kept as late evidence. Never rejects.
 */
export async function runLane(services: LaneServices, lane: ClaimedLane): Promise<void> {
  const { env, settler } = services;
  const done: EndedRecord[] = [];
  let heldSince = 0;
  const settle = async (settlement: Settlement): Promise<boolean> => {
    const ended = [...done.splice(0), ...(settlement.ended ?? [])];
    return (await settler.settle(lane, { ...settlement, ...(ended.length === 0 ? {} : { ended }) })) === 'ok';
  };
  // Nothing that could be read: the lane is given back, and one that has no effects at all is removed by the settle.
  if (lane.effects.length === 0)
    return void (await settle({ mode: 'retry', delayMs: 0, giveBack: true, keepLost: true }));
  try {
    for (const [index, effect] of lane.effects.entries()) {
      const step =
        effect.row.lost > 0 ? await asSuspect(services, lane, effect) : await runEffect(services, lane, effect);
      if (step.next === 'gone') break;
      if (step.next === 'stop') return void (await settle(step.settlement));
      if (done.length === 0) heldSince = env.clock.monotonicMs();
      done.push(step.record);
      if (index === lane.effects.length - 1) return void (await settle({ mode: 'next' }));
      // An end without a send is written before anything behind it is sent: after a crash it would be sent after its followers (chaos R7).
      const mustKeep =
        step.record.state !== 'completed' ||
        step.atOnce === true ||
        env.clock.monotonicMs() - heldSince > HOLD_SUCCESSES_MS;
      if (mustKeep && !(await settle({ mode: 'keep' }))) return;
    }
  } catch (error) {
    env.emit({ type: 'warning', code: 'lane_failed', message: `lane ${lane.lane} was left to its lease`, error });
    // What it was at when that happened may have left: as after a death.
    if (done.length > 0) await settle({ mode: 'unsure', delayMs: env.leaseMs + lane.kind.timeoutMs });
    return;
  }
  if (done.length > 0) await settle({ mode: 'next' });
}

function asSuspect(services: LaneServices, lane: ClaimedLane, effect: ClaimedEffect): Promise<Step> {
  lane.waiting = true;
  return services.runSuspect(effect.row.lost >= WORKER_LOST_MAX - 1, () => {
    lane.waiting = false;
    return runEffect(services, lane, effect);
  });
}
