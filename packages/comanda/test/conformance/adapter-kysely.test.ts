import { createDatabase } from '@comanda/test-support';
import { kyselyStandalone, kyselyTransaction } from 'comanda/adapters/kysely';
import { adapterConformance } from 'comanda/testing';
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

type Db = Kysely<Record<string, never>>;
let plain: Db;
let camel: Db;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase();
  plain = new Kysely({ dialect: new PostgresDialect({ pool: database.pool(4) }) });
  camel = plain.withPlugin(new CamelCasePlugin());
  drop = database.drop;
});
afterAll(() => drop());

describe.each([
  ['Kysely', () => plain],
  ['Kysely that renames columns', () => camel],
])('%s', (_, db) => {
  const checks = adapterConformance({
    transaction: (work) =>
      db()
        .transaction()
        .execute((trx) => work(kyselyTransaction(trx))),
    standalone: { query: (text, params) => kyselyStandalone(db()).query(text, params) },
    outside: () => kyselyTransaction(db()),
  });
  test.each(checks.map((check) => [check.name, check] as const))('%s', (_name, check) => check.run());
});

test('a controlled transaction is one, a single connection is none', async () => {
  const trx = await plain.startTransaction().execute();
  expect(await kyselyTransaction(trx).query('select 1 as one', [])).toEqual([{ one: 1 }]);
  await trx.rollback().execute();
  await plain.connection().execute(async (connection) => {
    expect(() => kyselyTransaction(connection)).toThrow(
      expect.objectContaining({ code: 'COMANDA_NOT_IN_TRANSACTION' }),
    );
  });
});
