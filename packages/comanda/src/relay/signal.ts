import type { Clock } from '../kernel/clock.js';

/** Something that can be rung and waited for: a ring while nobody waits is remembered, many rings are one. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring, or after `ms`. */
  wait(ms: number): Promise<void>;
}

/** Makes a bell. */
export function createBell(clock: Clock): Bell {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      rung = true;
      wake?.();
    },
    wait: async (ms) => {
      if (!rung && ms > 0) {
        await new Promise<void>((resolve) => {
          const timer = clock.after(ms, resolve);
          wake = () => {
            timer.cancel();
            resolve();
          };
        });
        wake = undefined;
      }
      rung = false;
    },
  };
}
