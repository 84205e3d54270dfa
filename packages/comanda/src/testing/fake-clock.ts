import { type ManualClock, manualClock } from '../kernel/manual-clock.js';

/** A {@link Clock} that stands still until it is told to move: `advance(ms)` fires the timers that became due, `pending` counts those that wait. */
export type FakeClock = ManualClock;

/**
 * A clock for tests, for everything that takes one: `createRelay({ clock })`, `httpTransport({ clock })`. Leases are judged by the database's clock in any case.
 *
 * @param start what the wall clock shows at first. Default: the beginning of 1970
 */
export function createFakeClock(start: Date | number = 0): FakeClock {
  return manualClock(Number(start));
}
