import { createDatabase } from '@comanda/test-support';
import { inPgTransaction, type PgClientLike, pgStandalone, pgTransaction } from 'comanda/adapters/pg';
import { type AdapterUnderTest, adapterConformance } from 'comanda/testing';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let pool: pg.Pool;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase();
  drop = database.drop;
  pool = database.pool(4);
});
afterAll(() => drop());

const inPool: AdapterUnderTest = {
  transaction: (work) => inPgTransaction(pool, (tx) => work(tx)),
  standalone: { query: (text, params) => pgStandalone(pool).query(text, params) },
  outside: () => pgTransaction(pool),
};

/** A client as older versions of pg give it: the server has to be asked. */
const old = (client: PgClientLike): PgClientLike => ({ query: (text, values) => client.query(text, values) });

describe('pg', () => {
  test.each(adapterConformance(inPool).map((check) => [check.name, check] as const))('%s', (_, check) => check.run());
});

describe('pg without getTransactionStatus', () => {
  const adapter: AdapterUnderTest = {
    ...inPool,
    transaction: (work) => inPgTransaction(pool, (_, client) => work(pgTransaction(old(client)))),
    outside: () => pgTransaction(old(pool)),
  };
  test.each(adapterConformance(adapter).map((check) => [check.name, check] as const))('%s', (_, check) => check.run());
});

test('the version of pg in use tells the state of its transaction', async () => {
  const client = await pool.connect();
  expect(client.getTransactionStatus?.()).toBe('I');
  client.release();
});
