import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from './retry-after.js';

const now = Date.UTC(1994, 10, 6, 8, 49, 30);
const date = 'Sun, 06 Nov 1994 08:49:30 GMT';

describe('parseRetryAfter', () => {
  it.each([
    ['5', undefined, 5_000],
    [' 5 ', undefined, 5_000],
    ['0', undefined, 1_000],
    ['86400', undefined, 3_600_000],
    ['9'.repeat(400), undefined, 3_600_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', undefined, 7_000],
    ['Sun, 06 Nov 1994 09:49:37 GMT', 'Sun, 06 Nov 1994 09:49:30 GMT', 7_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 'yesterday', 7_000],
    ['Sun, 06 Nov 1994 08:00:00 GMT', date, 1_000],
    ['Sun, 06 Nov 2094 08:00:00 GMT', date, 3_600_000],
  ])('H08: %j with Date %j waits %i ms', (value, dateHeader, ms) => {
    expect(parseRetryAfter(value, dateHeader, now)).toBe(ms);
  });

  it.each([undefined, '', 'soon', '-5', '1e3', '5, 7', '0x5', '1994-11-06T08:49:37Z', 'Sun, 99 Nov 1994 08:49:37 GMT'])(
    'H08: %j is ignored',
    (value) => {
      expect(parseRetryAfter(value, date, now)).toBeUndefined();
    },
  );

  it('H08: is never NaN and never outside 1 s to 1 h', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (value, dateHeader) => {
        const ms = parseRetryAfter(value, dateHeader, now);
        if (ms !== undefined) expect(ms >= 1_000 && ms <= 3_600_000).toBe(true);
      }),
    );
  });
});
