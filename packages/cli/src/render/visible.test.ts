import { expect, test } from 'vitest';
import { styled, toTerminal, visible, visibleJson } from './visible.js';

const HOSTILE = 'a\u001b[2J\u0007\n\r\t\u0000\u007f\u009b31m\u202e\u2066\u200b\ufeff\u2028\u{e0041}\ud800z';
const CONTROL =
  /[\u0000-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2066-\u2069\ufeff\ufdd0-\ufddf]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/u;

test("nothing that steers a terminal is left of a stranger's text", () => {
  expect(visible(HOSTILE)).toBe(
    'a\\e[2J\\x07\\n\\r\\t\\x00\\x7f\\x9b31m\\u202e\\u2066\\u200b\\ufeff\\u2028\\udb40\\udc41\ufffdz',
  );
  expect(visible(HOSTILE)).not.toMatch(CONTROL);
});

test('other scripts and emoji stay as they are', () => {
  const text = 'café 日本語 👍🏽 👩‍👩‍👧 עברית ñ';
  expect(visible(text)).toBe(text);
});

test('styles become escape codes, or nothing', () => {
  expect(toTerminal(styled('x', 'bold', 'red'), true)).toBe('\u001b[1m\u001b[31mx\u001b[0m');
  expect(toTerminal(styled('x', 'bold', 'red'), false)).toBe('x');
  expect(styled('', 'bold')).toBe('');
});

test('a stranger cannot bring styles of ours along', () => {
  expect(toTerminal(visible(styled('x', 'red')), true)).toBe('\\ufdd3x\\ufdd0');
});

test('a line that forgot to escape is escaped on its way out', () => {
  expect(toTerminal(HOSTILE, true)).not.toMatch(CONTROL);
});

test('JSON is the same JSON, without a character that steers a terminal', () => {
  for (const indent of [undefined, 2]) {
    const text = visibleJson({ [HOSTILE]: [HOSTILE] }, indent);
    expect(text.replaceAll('\n', '')).not.toMatch(CONTROL);
    expect(JSON.parse(text)).toEqual({ [HOSTILE]: [HOSTILE] });
  }
});
