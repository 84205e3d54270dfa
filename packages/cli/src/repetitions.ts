/** What is said again within this time is counted instead. */
const QUIET_MS = 60_000;
/** Different things that are remembered at the same time. */
const MAX_THINGS = 200;

/** Keeps a log readable while something fails again and again. */
export interface Repetitions {
  /**
   * Whether to say it, and how often it was not said since it was said last. `undefined`: not now.
   *
   * @param thing what stays the same when it is repeated
   */
  say(thing: string): { readonly unsaid: number } | undefined;
  /** It is over: the next one is news again. Returns how often it was not said. */
  forget(thing: string): number;
}

/** @param nowMs a clock that never goes back */
export function createRepetitions(nowMs: () => number): Repetitions {
  const said = new Map<string, { atMs: number; unsaid: number }>();
  return {
    say(thing) {
      const before = said.get(thing);
      if (before !== undefined && nowMs() - before.atMs < QUIET_MS) {
        before.unsaid += 1;
        return undefined;
      }
      said.delete(thing);
      const [oldest] = said.keys();
      if (said.size >= MAX_THINGS && oldest !== undefined) said.delete(oldest);
      said.set(thing, { atMs: nowMs(), unsaid: 0 });
      return { unsaid: before?.unsaid ?? 0 };
    },
    forget(thing) {
      const unsaid = said.get(thing)?.unsaid ?? 0;
      said.delete(thing);
      return unsaid;
    },
  };
}
