import { expect, test } from 'vitest';
import { styled } from './render/visible.js';
import { createTerminal } from './terminal.js';

function screen(isTTY: boolean, env: Record<string, string> = {}) {
  const written: string[] = [];
  const stream = { isTTY, columns: 30, write: (text: string) => written.push(text) };
  return { terminal: createTerminal(stream, stream, env), written };
}

const paint = ({ terminal, written }: ReturnType<typeof screen>): string => {
  terminal.lines([styled('x', 'red')]);
  return written.join('');
};

test('colours are for screens, and for those who want them', () => {
  expect(paint(screen(true))).toBe('\u001b[31mx\u001b[0m\n');
  expect(paint(screen(false))).toBe('x\n');
  expect(paint(screen(true, { NO_COLOR: '1' }))).toBe('x\n');
  expect(paint(screen(true, { NO_COLOR: '' }))).toBe('\u001b[31mx\u001b[0m\n');
  expect(paint(screen(true, { TERM: 'dumb' }))).toBe('x\n');
});

test('a pipe has no width and is never cleared', () => {
  const { terminal, written } = screen(false);
  terminal.clear();
  expect([terminal.columns, written]).toEqual([undefined, []]);
  expect(screen(true).terminal.columns).toBe(30);
});

test('remarks are wrapped on a screen and one line each in a pipe', () => {
  const long = 'comanda: something happened that takes more than one line';
  const onScreen = screen(true);
  onScreen.terminal.notes([long]);
  expect(onScreen.written.join('').split('\n')).toEqual([
    'comanda: something happened',
    'that takes more than one line',
    '',
  ]);
  const inPipe = screen(false);
  inPipe.terminal.notes([long]);
  expect(inPipe.written).toEqual([`${long}\n`]);
});
