import { expect, it } from 'vitest';
import type { Path } from '../src/crash/paths/path.js';
import { judge } from '../src/crash/run/judge.js';
import { isClean } from '../src/crash/run/verdict.js';
import type { BookEntry } from '../src/crash/stage/book.js';
import type { Stage } from '../src/crash/stage/stage.js';

const PATH: Pick<Path, 'ends' | 'order'> = { ends: { a: ['completed'], b: ['completed'] }, order: ['a', 'b'] };

interface Row {
  readonly ref: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: null;
  readonly payload: string;
  readonly unknown: boolean;
}

/** What a run left: the effects of the database, the provider's book, the order of the shop with its decision. */
interface Left {
  readonly effects: readonly Row[];
  readonly book: readonly BookEntry[];
  readonly orders: readonly { readonly refunded: boolean; readonly decided: boolean }[];
}

const row = (ref: string, more: Partial<Row> = {}): Row => ({
  ref,
  kind: 'keyed',
  state: 'completed',
  reason: null,
  payload: `{"ref": "${ref}"}`,
  unknown: false,
  ...more,
});
const accepted = (ref: string, more: Partial<BookEntry> = {}): BookEntry =>
  ({ event: 'accepted', ref, kind: 'keyed', body: `{"ref": "${ref}"}`, id: `id-${ref}`, ...more }) as BookEntry;

const GOOD: Left = {
  effects: [row('a'), row('b')],
  book: [accepted('a'), accepted('b')],
  orders: [{ refunded: true, decided: true }],
};

function verdictOn(left: Left, unattended: readonly string[] = []): ReturnType<typeof judge> {
  const stage = {
    query: async (sql: string) => (sql.includes('shop.orders') ? left.orders : left.effects),
    book: async () => left.book,
  } as unknown as Stage;
  return judge(PATH as Path, stage, unattended);
}

it('a run in which each effect happened once, in order, is clean', async () => {
  expect(isClean(await verdictOn(GOOD))).toBe(true);
});

it.each<[string, Partial<Left>, 'lost' | 'duplicated' | 'wrong']>([
  ['an effect that was never decided', { effects: [row('a')], book: [accepted('a')] }, 'lost'],
  ['completed, and accepted nowhere', { book: [accepted('a')] }, 'lost'],
  [
    'an end that the path does not have',
    { effects: [row('a'), row('b', { state: 'failed' })], book: [accepted('a')] },
    'lost',
  ],
  ['still unknown', { effects: [row('a'), row('b', { state: 'unknown', unknown: true })] }, 'lost'],
  ['accepted twice', { book: [accepted('a'), accepted('b'), accepted('b')] }, 'duplicated'],
  ['decided twice', { effects: [row('a'), row('b'), row('b')] }, 'duplicated'],
  ['cancelled, and accepted', { effects: [row('a'), row('b', { state: 'cancelled' })] }, 'duplicated'],
  ['sent, and never decided', { book: [accepted('a'), accepted('b'), accepted('c')] }, 'duplicated'],
  ['out of order', { book: [accepted('b'), accepted('a')] }, 'wrong'],
  [
    'an older state put again over a newer one',
    {
      effects: [row('a', { kind: 'natural' }), row('b', { kind: 'natural' })],
      book: [accepted('a'), accepted('b'), accepted('a')],
    },
    'wrong',
  ],
  ['another content', { book: [accepted('a'), accepted('b', { body: '{}' })] }, 'wrong'],
  ['the order and its decision torn apart', { orders: [{ refunded: true, decided: false }] }, 'wrong'],
])('sees %s', async (_, change, what) => {
  const verdict = await verdictOn({ ...GOOD, ...change });
  expect(verdict[what]).not.toEqual([]);
});

it('passes on what nobody attends to', async () => {
  expect(isClean(await verdictOn(GOOD, ['lane without effects: k:a']))).toBe(false);
});
