import { createDatabase } from '@comanda/test-support';
import { type KnexTransactionLike, knexStandalone, knexTransaction } from 'comanda/adapters/knex';
import { adapterConformance } from 'comanda/testing';
import knex, { type Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let db: Knex;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase();
  db = knex({ client: 'pg', connection: database.url, pool: { min: 0, max: 4 } });
  drop = async () => {
    await db.destroy();
    await database.drop();
  };
});
afterAll(() => drop());

describe('Knex', () => {
  const checks = adapterConformance({
    transaction: (work) => db.transaction((trx) => work(knexTransaction(trx))),
    standalone: { query: (text, params) => knexStandalone(db).query(text, params) },
    outside: () => knexTransaction(db as unknown as KnexTransactionLike),
  });
  test.each(checks.map((check) => [check.name, check] as const))('%s', (_, check) => check.run());
});

test('a transaction that has ended is refused', async () => {
  const trx = await db.transaction();
  const tx = knexTransaction(trx);
  await trx.commit();
  await expect(tx.query('select 1', [])).rejects.toMatchObject({ code: 'COMANDA_NOT_IN_TRANSACTION' });
});

test('a question mark and a parameter that comes twice are what they are', async () => {
  expect(await knexStandalone(db).query(`select $2::text || '?' || $1 || $2 as all`, ['a', '?'])).toEqual([
    { all: '??a?' },
  ]);
});
