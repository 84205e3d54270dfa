import { expect, test } from 'vitest';
import { styled } from './visible.js';
import { cut, widthOf, wrap } from './width.js';

test.each([
  ['abc', 3],
  ['', 0],
  ['日本', 4],
  ['👍🏽', 2],
  ['👩‍👩‍👧', 2],
  ['e\u0301', 1],
  ['ｗｉｄｅ', 8],
])('%s takes %d columns', (text, width) => {
  expect(widthOf(text)).toBe(width);
});

test('styles take no room', () => {
  expect(widthOf(styled('abc', 'red', 'bold'))).toBe(3);
});

test('a text is cut between characters, never inside one', () => {
  expect(cut('abcdef', 4)).toBe('abc…');
  expect(cut('abcd', 4)).toBe('abcd');
  expect(cut('日本語', 4)).toBe('日…');
  expect(cut('👍🏽👍🏽', 3)).toBe('👍🏽…');
  expect(cut('abc', 0)).toBe('');
});

test('a text is broken at spaces, and a word that is too long anywhere', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('abcdefghij k', 4)).toEqual(['abcd', 'efgh', 'ij k']);
  expect(wrap('', 10)).toEqual(['']);
});
