import { expect, test } from 'vitest';
import { type Column, table } from './table.js';
import { unstyled } from './visible.js';
import { widthOf } from './width.js';

interface Row {
  readonly id: number;
  readonly key: string;
  readonly note: string | null;
}

const columns: readonly Column<Row>[] = [
  { title: 'id', align: 'right', value: (r) => r.id },
  { title: 'key', min: 6, value: (r) => r.key },
  { title: 'note', min: 4, value: (r) => r.note },
];
const rows: readonly Row[] = [
  { id: 1, key: 'refund:ORD-2041', note: 'short' },
  { id: 1_000, key: 'x', note: 'a note that is rather long' },
];
const plain = (width?: number): readonly string[] => table(columns, rows, width).map(unstyled);

test('numbers stand to the right, texts to the left, and nothing is cut without a screen', () => {
  expect(plain()).toEqual([
    '  id  key              note',
    '   1  refund:ORD-2041  short',
    '1000  x                a note that is rather long',
  ]);
});

test.each([60, 40, 30, 20])('a screen of %d columns is not exceeded', (width) => {
  expect(Math.max(...plain(width).map(widthOf))).toBeLessThanOrEqual(width);
});

test('the widest column gives way first', () => {
  expect(plain(40)).toEqual([
    '  id  key              note',
    '   1  refund:ORD-2041  short',
    '1000  x                a note that is r…',
  ]);
});

test('columns that may not be cut are not, however narrow the screen', () => {
  expect(plain(5)[2]).toBe('1000  x       a n…');
});

test('a column without any value is left out', () => {
  const none = rows.map((row) => ({ ...row, note: null }));
  expect(table(columns, none).map(unstyled)[0]).toBe('  id  key');
});

test('a hostile value stays on its line', () => {
  const [, line] = table(columns, [{ id: 1, key: 'a\nb\u001b[2J', note: '' }]).map(unstyled);
  expect(line).toBe(' 1  a\\nb\\e[2J');
});
