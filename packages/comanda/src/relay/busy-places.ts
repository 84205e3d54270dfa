import type { ClaimedLane } from './claimed-lane.js';

/**
 * Places taken, per kind. What waits for its turn as a suspect takes none, so that new work goes on after the death of a relay - up to as many as there are places,
 * because each is held in memory and renewed.
 */
export function busyPlaces(lanes: Iterable<ClaimedLane>): ReadonlyMap<string, number> {
  const busy = new Map<string, number>();
  const waiting = new Map<string, number>();
  for (const { kind, waiting: waits } of lanes) {
    const queue = waiting.get(kind.kind) ?? 0;
    if (waits && queue < kind.concurrency) waiting.set(kind.kind, queue + 1);
    else busy.set(kind.kind, (busy.get(kind.kind) ?? 0) + 1);
  }
  return busy;
}
