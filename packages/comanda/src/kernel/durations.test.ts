import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from './durations.js';
import { KEY_RETENTION_MS } from './limits.js';

describe('parseDuration', () => {
  it.each([
    ['20s', 20_000],
    ['250ms', 250],
    ['10m', 600_000],
    ['72h', 259_200_000],
    ['1.5s', 1_500],
    ['24d', 2_073_600_000],
    [1, 1],
  ])('reads %s', (value, ms) => {
    expect(parseDuration(value, 'timeout')).toBe(ms);
  });

  it.each([
    ['a year', '365d'],
    ['24.9 days', 24.9 * 86_400_000],
    ['the first millisecond too many', 2_073_600_001],
    ['zero', 0],
    ['Infinity', Number.POSITIVE_INFINITY],
  ])('L13: refuses %s with the allowed range, never an immediate expiry', (_, value) => {
    expect(() => parseDuration(value, 'lease')).toThrow(/lease is .+, allowed is 1ms to 24d/);
  });

  it.each(['', '20', '20 parsecs', '-5s', 'NaN'])('refuses %j', (value) => {
    expect(() => parseDuration(value, 'timeout')).toThrow(/timeout is '.*', expected milliseconds or a text such as/);
  });

  it('takes other bounds for what is not a timer', () => {
    expect(parseDuration('400d', 'keys', { maxMs: KEY_RETENTION_MS })).toBe(KEY_RETENTION_MS);
  });

  it('prints the shortest exact form', () => {
    expect([1, 1_500, 90_000, 3_600_000].map(formatDuration)).toEqual(['1ms', '1500ms', '90s', '1h']);
  });
});
