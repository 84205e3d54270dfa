import type { Clock } from '../kernel/clock.js';

/** Runs what an earlier process may have died of. `strict`: nobody else of them runs meanwhile. */
export type RunSuspect = <Result>(strict: boolean, work: () => Promise<Result>) => Promise<Result>;

/** What kills its process does it at once, most times: who has lived so long is believed to be harmless, and the next one begins. */
const HARMLESS_AFTER_MS = 1_000;
/** Alone for at most so long: somebody may wait for a target that answers to nobody. */
const ALONE_MS = 30_000;

/**
 * At most one suspect of a dead process begins at a time, so that the one that kills is alone with its death (redteam 1.7). A slow target must not hold up the others:
 * after a moment the next one begins all the same. One that was there at two deaths runs strictly alone: the third would quarantine it.
 */
export function createSuspects(clock: Clock): RunSuspect {
  const running = new Set<Promise<unknown>>();
  let tail: Promise<unknown> = Promise.resolve();
  return async (strict, work) => {
    const before = tail;
    let free = (): void => undefined;
    tail = new Promise<void>((resolve) => {
      free = resolve;
    });
    await before;
    if (strict) await Promise.race([Promise.allSettled(running), clock.sleep(ALONE_MS)]);
    const timer = clock.after(strict ? ALONE_MS : HARMLESS_AFTER_MS, free);
    const mine = work();
    running.add(mine);
    try {
      return await mine;
    } finally {
      running.delete(mine);
      timer.cancel();
      free();
    }
  };
}
