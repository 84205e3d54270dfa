import { createDatabase } from '@comanda/test-support';
import type { Queryable, Transaction } from 'comanda';
import { inPgTransaction, pgStandalone, pgTransaction } from 'comanda/adapters/pg';
import { type AdapterUnderTest, adapterConformance } from 'comanda/testing';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';

let pool: pg.Pool;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase();
  drop = database.drop;
  pool = database.pool(4);
});
afterAll(() => drop());

const standalone: Queryable = { query: (text, params) => pgStandalone(pool).query(text, params) };
const outsider: Transaction = { inTransaction: true, query: standalone.query };

const sound: AdapterUnderTest = {
  transaction: (work) => inPgTransaction(pool, (tx) => work(tx)),
  standalone,
  outside: () => pgTransaction(pool),
};

/** The sound adapter with its rows, or its errors, changed on the way out. */
function changed(
  rows: (found: readonly unknown[]) => readonly unknown[],
  thrown = (error: unknown) => error,
): AdapterUnderTest {
  const through = (db: Queryable): Transaction => ({
    inTransaction: true,
    async query<Row>(text: string, params: readonly unknown[]) {
      const found = await db.query<Row>(text, params).catch((error: unknown) => Promise.reject(thrown(error)));
      return rows(found) as readonly Row[];
    },
  });
  return { ...sound, transaction: (work) => sound.transaction((tx) => work(through(tx))) };
}

const row = (change: (name: string, value: unknown) => [string, unknown]) => (rows: readonly unknown[]) =>
  rows.map((found) => Object.fromEntries(Object.entries(found as object).map(([name, value]) => change(name, value))));

test.each<[string, AdapterUnderTest, RegExp]>([
  [
    'works outside of the transaction',
    { ...sound, transaction: (work) => sound.transaction(() => work(outsider)) },
    /not seen before/,
  ],
  [
    'commits in spite of an error',
    { ...sound, transaction: (work) => work(outsider) },
    /rolled back with its transaction/,
  ],
  ['takes any handle', { ...sound, outside: () => outsider }, /in no transaction is refused/],
  ['rounds', changed(row((name, value) => [name, /^\d+$/.test(String(value)) ? Number(value) : value])), /not rounded/],
  [
    'normalises text',
    changed(row((name, value) => [name, typeof value === 'string' ? value.normalize() : value])),
    /character by character/,
  ],
  ['renames columns', changed(row((name, value) => [name.replace('_', ''), value])), /names of their columns/],
  ['drops rows', changed((rows) => rows.slice(0, 100)), /their number/],
  [
    'hides SQLSTATEs',
    changed(
      (rows) => rows,
      (error) => new Error(String(error)),
    ),
    /keeps its SQLSTATE/,
  ],
])('an adapter that %s fails the suite', async (_, adapter, expected) => {
  const failed: string[] = [];
  for (const check of adapterConformance(adapter)) await check.run().catch(() => failed.push(check.name));
  expect(failed).toContainEqual(expect.stringMatching(expected));
});
