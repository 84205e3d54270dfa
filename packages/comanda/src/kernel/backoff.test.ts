import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffCeilingMs, retryDelayMs } from './backoff.js';
import { systemRandom } from './ids.js';
import { BACKOFF_BASE_MS, BACKOFF_MAX_MS } from './limits.js';

const defaults = { baseMs: BACKOFF_BASE_MS, maxMs: BACKOFF_MAX_MS };

describe('backoff', () => {
  it('doubles from 1 s to 10 min', () => {
    expect([1, 2, 3, 4].map((attempt) => backoffCeilingMs(attempt, defaults))).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(backoffCeilingMs(11, defaults)).toBe(600_000);
    expect(backoffCeilingMs(1e9, defaults)).toBe(600_000);
  });

  it('stays inside [atLeast, atLeast + ceiling]', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1, max: 1e6 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.nat(3_600_000),
        (attempt, random, atLeast) => {
          const delay = retryDelayMs(attempt, defaults, random, atLeast);
          expect(delay).toBeGreaterThanOrEqual(atLeast);
          expect(delay).toBeLessThanOrEqual(atLeast + backoffCeilingMs(attempt, defaults));
        },
      ),
    );
  });

  it('M07: a thousand effects that failed together do not come back together', () => {
    const buckets = new Map<number, number>();
    for (let effect = 0; effect < 1_000; effect++) {
      const second = Math.floor(retryDelayMs(1, { baseMs: 30_000, maxMs: BACKOFF_MAX_MS }, systemRandom()) / 1_000);
      buckets.set(second, (buckets.get(second) ?? 0) + 1);
    }
    expect(Math.max(...buckets.values())).toBeLessThanOrEqual(100);
  });
});
