import type { ClaimedLane } from './claimed-lane.js';
import { type RelayEnvironment, sendMarginMs } from './environment.js';

/** Keeps the leases of running lanes alive, and tells their handlers when one is lost. */
export interface Leases {
  add(lane: ClaimedLane): void;
  remove(lane: ClaimedLane): void;
  readonly lanes: ReadonlySet<ClaimedLane>;
  stop(): void;
}

/** How often the local trust in leases is checked: a lost lease reaches its handler well within two seconds (case L15). */
const CHECK_MS = 250;

/**
 * Renews at a third of the lease, up to its maximum life. Trust in a lease ends here before it ends in the database: it is measured on the monotonic clock from before the
 * renewal was asked for, so that a late answer, a paused process or a wrong host clock can only shorten it.
 */
export function createLeases(env: RelayEnvironment): Leases {
  const lanes = new Set<ClaimedLane>();
  let stopped = false;
  let renewing = false;
  let lastRenewal = env.clock.monotonicMs();

  const tick = (): void => {
    if (stopped) return;
    const now = env.clock.monotonicMs();
    for (const lane of lanes) {
      if (now > lane.trustedUntil - sendMarginMs(env.leaseMs) / 2)
        lane.stop.stop(new Error('the lease is about to end'));
    }
    if (!renewing && lanes.size > 0 && now - lastRenewal >= Math.min(env.leaseMs / 3, env.leaseMs - CHECK_MS))
      void renew(now);
    env.clock.after(Math.min(CHECK_MS, env.leaseMs / 6), tick);
  };

  /** So that the next renewal comes shortly, not only a third of the lease later. */
  const soon = (now: number): number => now - env.leaseMs / 3 + Math.min(1_000, env.leaseMs / 6);

  const renew = async (now: number): Promise<void> => {
    renewing = true;
    lastRenewal = now;
    const due = [...lanes].filter(
      (lane) => now - lane.heldSince + env.leaseMs <= env.leaseMaxLifeMs && lane.stop.reason === undefined,
    );
    try {
      const results =
        due.length === 0
          ? []
          : await env.engine.renew({
              relay: env.id,
              leaseMs: env.leaseMs,
              lanes: due.map(({ lane, fence }) => ({ lane, fence })),
            });
      const byRef = new Map(results.map((row) => [`${row.fence} ${row.lane}`, row.result]));
      for (const lane of due) {
        const result = byRef.get(`${lane.fence} ${lane.lane}`);
        if (result === 'ok') lane.trustedUntil = Math.max(lane.trustedUntil, now + env.leaseMs);
        else if (result === 'lost' && lanes.has(lane)) lane.stop.stop(new Error('the lease was lost'));
      }
      if (results.some((row) => row.result === 'busy')) lastRenewal = soon(now);
    } catch (error) {
      // Tried again at the next third; without an answer the local trust ends in time.
      env.emit({ type: 'warning', code: 'renew_failed', message: 'leases could not be renewed', error });
      lastRenewal = soon(now);
    } finally {
      renewing = false;
    }
  };

  tick();
  return {
    add: (lane) => void lanes.add(lane),
    remove: (lane) => void lanes.delete(lane),
    lanes,
    stop: () => {
      stopped = true;
    },
  };
}
