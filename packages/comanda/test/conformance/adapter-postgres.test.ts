import { createDatabase } from '@comanda/test-support';
import { postgresStandalone, postgresTransaction } from 'comanda/adapters/postgres';
import { adapterConformance } from 'comanda/testing';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let plain: postgres.Sql;
let camel: postgres.Sql;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase();
  plain = postgres(database.url, { max: 4 });
  camel = postgres(database.url, { max: 4, transform: postgres.camel });
  drop = async () => {
    await Promise.all([plain.end(), camel.end()]);
    await database.drop();
  };
});
afterAll(() => drop());

describe.each([
  ['postgres.js', () => plain],
  ['postgres.js that renames columns', () => camel],
])('%s', (_, sql) => {
  const checks = adapterConformance({
    transaction: (work) => sql().begin((tx) => work(postgresTransaction(tx))) as ReturnType<typeof work>,
    standalone: { query: (text, params) => postgresStandalone(sql()).query(text, params) },
    outside: () => postgresTransaction(sql() as unknown as postgres.TransactionSql),
  });
  test.each(checks.map((check) => [check.name, check] as const))('%s', (_name, check) => check.run());

  test('a reserved connection is refused: postgres.js does not say whether it is in a transaction', async () => {
    const reserved = await sql().reserve();
    expect(() => postgresTransaction(reserved as unknown as postgres.TransactionSql)).toThrow(
      expect.objectContaining({ code: 'COMANDA_NOT_IN_TRANSACTION' }),
    );
    reserved.release();
  });
});
