import { expect, test } from 'vitest';
import { age, ahead, count, duration, moment, quoted, shellWord } from './phrases.js';

test.each([
  [0, '0s'],
  [-5, '0s'],
  [999, '0s'],
  [1_000, '1s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [200_000, '3m 20s'],
  [3_600_000, '1h'],
  [3_659_000, '1h'],
  [3_660_000, '1h 1m'],
  [187_200_000, '2d 4h'],
  [86_400_000 * 400, '400d'],
])('%d ms are %s', (ms, text) => {
  expect(age(ms)).toBe(text);
});

test.each([
  [0.4, '0ms'],
  [120, '120ms'],
  [1_449, '1.4s'],
  [12_000, '12s'],
])('an attempt of %d ms took %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('a moment that has come is now', () => {
  expect([ahead(-5_000), ahead(500), ahead(20_000)]).toEqual(['now', 'now', 'in 20s']);
});

test('a moment is shown in UTC, without fractions', () => {
  expect(moment('2026-01-31T09:30:00.123Z')).toBe('2026-01-31 09:30:00 UTC');
});

test('a quoted text stays on one line and is cut', () => {
  expect(quoted(' a\n\tb ')).toBe('"a b"');
  expect(quoted('x'.repeat(400), 5)).toBe('"xxxxx…"');
});

test('a count agrees with its noun', () => {
  expect([count(1, 'effect'), count(0, 'effect')]).toEqual(['1 effect', '0 effects']);
});

test.each([
  ['refund:ORD-1/a', 'refund:ORD-1/a'],
  ["it's $HOME", `'it'\\''s $HOME'`],
  ['-rf', `'-rf'`],
  ['', `''`],
])('%s is the shell word %s', (text, word) => {
  expect(shellWord(text)).toBe(word);
});
