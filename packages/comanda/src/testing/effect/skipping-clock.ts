import { type Clock, sleepOn, systemClock, type Timer } from '../../kernel/clock.js';

/**
 * The time of an exercise: goes on as the host's does, so that a handler can compare it with `performance.now()`, and skips what would be waiting. Timers fire
 * in skips only, never because the machine is slow.
 */
export interface SkippingClock extends Clock {
  skip(ms: number): void;
  /** The same time, with timers that can all be stopped: those of a process that dies. */
  process(): Clock & { die(): void };
}

interface Waiting {
  readonly at: number;
  readonly fire: () => void;
}

export function createSkippingClock(): SkippingClock {
  let skipped = 0;
  const timers = new Set<Waiting>();
  const monotonicMs = (): number => systemClock.monotonicMs() + skipped;
  const after = (ms: number, fire: () => void): Timer => {
    const timer = { at: monotonicMs() + Math.max(ms, 0), fire };
    timers.add(timer);
    return { cancel: () => void timers.delete(timer) };
  };
  const base = { wallMs: () => systemClock.wallMs() + skipped, monotonicMs, after };
  const clock: SkippingClock = {
    ...base,
    sleep: (ms, signal) => sleepOn(base, ms, signal),
    skip: (ms) => {
      const until = monotonicMs() + ms;
      for (;;) {
        const due = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        const [first] = due;
        if (first === undefined) break;
        timers.delete(first);
        skipped += Math.max(first.at - monotonicMs(), 0);
        first.fire();
      }
      skipped += Math.max(until - monotonicMs(), 0);
    },
    process: () => {
      let alive = true;
      const own = new Set<Timer>();
      const view = {
        ...base,
        after: (ms: number, fire: () => void): Timer => {
          if (!alive) return { cancel: () => {} };
          const timer = after(ms, fire);
          own.add(timer);
          return timer;
        },
      };
      return {
        ...view,
        sleep: (ms, signal) => sleepOn(view, ms, signal),
        die: () => {
          alive = false;
          for (const timer of own) timer.cancel();
        },
      };
    },
  };
  return clock;
}
