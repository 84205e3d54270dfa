/** Growth of a count in each of the last seconds. */
export interface Rates {
  /** Notes the count at a moment; returns the growth of each whole second so far, oldest first. */
  add(ms: number, count: number): readonly number[];
}

const KEPT = 60;

export function createRates(): Rates {
  const seconds: number[] = [];
  let second = 0;
  let before = 0;
  return {
    add(ms, count) {
      const passed = Math.floor(ms / 1_000) - second;
      if (passed > 0) {
        // A look that came late stands for all the seconds since the last one.
        seconds.push(...Array.from({ length: passed }, () => Math.round((count - before) / passed)));
        seconds.splice(0, seconds.length - KEPT);
        second += passed;
        before = count;
      }
      return seconds;
    },
  };
}
