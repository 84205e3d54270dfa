import { createDatabase } from '@comanda/test-support';
import { typeOrmStandalone, typeOrmTransaction } from 'comanda/adapters/typeorm';
import { adapterConformance } from 'comanda/testing';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let source: DataSource;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase();
  source = await new DataSource({ type: 'postgres', url: database.url, poolSize: 4 }).initialize();
  drop = async () => {
    await source.destroy();
    await database.drop();
  };
});
afterAll(() => drop());

describe('TypeORM', () => {
  const checks = adapterConformance({
    transaction: (work) => source.transaction((manager) => work(typeOrmTransaction(manager))),
    standalone: { query: (text, params) => typeOrmStandalone(source).query(text, params) },
    outside: () => typeOrmTransaction(source.manager),
  });
  test.each(checks.map((check) => [check.name, check] as const))('%s', (_, check) => check.run());
});

test('a query runner is in a transaction from its start to its end', async () => {
  const runner = source.createQueryRunner();
  const tx = typeOrmTransaction(runner.manager);
  await expect(tx.query('select 1', [])).rejects.toMatchObject({ code: 'COMANDA_NOT_IN_TRANSACTION' });
  await runner.startTransaction();
  expect(await tx.query('select 1 as one', [])).toEqual([{ one: 1 }]);
  await runner.commitTransaction();
  await expect(tx.query('select 1', [])).rejects.toMatchObject({ code: 'COMANDA_NOT_IN_TRANSACTION' });
  await runner.release();
});
