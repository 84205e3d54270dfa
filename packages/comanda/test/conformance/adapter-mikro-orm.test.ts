import { createDatabase } from '@comanda/test-support';
import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { mikroOrmStandalone, mikroOrmTransaction } from 'comanda/adapters/mikro-orm';
import { adapterConformance } from 'comanda/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const Order = new EntitySchema({ name: 'Order', properties: { id: { type: 'string', primary: true } } });

let orm: MikroORM;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase();
  orm = await MikroORM.init({ clientUrl: database.url, entities: [Order], pool: { min: 0, max: 4 } });
  drop = async () => {
    await orm.close(true);
    await database.drop();
  };
});
afterAll(() => drop());

describe('MikroORM', () => {
  const checks = adapterConformance({
    transaction: (work) => orm.em.fork().transactional((em) => work(mikroOrmTransaction(em))),
    standalone: { query: (text, params) => mikroOrmStandalone(orm.em.fork()).query(text, params) },
    outside: () => mikroOrmTransaction(orm.em.fork()),
  });
  test.each(checks.map((check) => [check.name, check] as const))('%s', (_, check) => check.run());
});

test('an entity manager is in a transaction from begin to commit', async () => {
  const em = orm.em.fork();
  const tx = mikroOrmTransaction(em);
  await em.begin();
  expect(await tx.query('select 1 as one', [])).toEqual([{ one: 1 }]);
  await em.commit();
  await expect(tx.query('select 1', [])).rejects.toMatchObject({ code: 'COMANDA_NOT_IN_TRANSACTION' });
});
