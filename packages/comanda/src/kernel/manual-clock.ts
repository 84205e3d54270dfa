import { type Clock, sleepOn, type Timer } from './clock.js';

/** A clock that stands still until it is told to move. For tests. */
export interface ManualClock extends Clock {
  /** Moves both clocks on and fires what became due, in order of due time. */
  advance(ms: number): void;
  /** Timers that wait. */
  readonly pending: number;
}

/** Makes a clock that starts at `wallMs` (default 0) and monotonic 0. */
export function manualClock(wallMs = 0): ManualClock {
  let elapsed = 0;
  let timers: { readonly at: number; readonly fire: () => void }[] = [];
  const clock: ManualClock = {
    wallMs: () => wallMs + elapsed,
    monotonicMs: () => elapsed,
    after(ms, fire): Timer {
      const timer = { at: elapsed + Math.max(ms, 0), fire };
      timers.push(timer);
      return {
        cancel: () => {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
    advance(ms) {
      const until = elapsed + ms;
      for (;;) {
        const next = timers.reduce<(typeof timers)[number] | undefined>(
          (first, timer) => (timer.at <= until && (first === undefined || timer.at < first.at) ? timer : first),
          undefined,
        );
        if (next === undefined) break;
        timers = timers.filter((timer) => timer !== next);
        elapsed = Math.max(elapsed, next.at);
        next.fire();
      }
      elapsed = until;
    },
    get pending() {
      return timers.length;
    },
  };
  return clock;
}
