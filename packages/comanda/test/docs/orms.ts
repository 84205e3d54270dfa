import type { TestDatabase } from '@comanda/test-support';
import type { Decided } from 'comanda';

/** The snippets of one object-relational mapper, on a handle of its own. */
interface Orm {
  readonly use: {
    refundOrder(order: string): Promise<Decided>;
    noteOnly(order: string): Promise<Decided>;
  };
  close(): Promise<void>;
}

interface Snippets<Handle> {
  refundOrder(handle: Handle, order: string): Promise<Decided>;
  noteOnly(handle: Handle, order: string): Promise<Decided>;
}

const on = <Handle>(snippets: Snippets<Handle>, handle: Handle, close: () => Promise<unknown>): Orm => ({
  use: {
    refundOrder: (order) => snippets.refundOrder(handle, order),
    noteOnly: (order) => snippets.noteOnly(handle, order),
  },
  close: async () => void (await close()),
});

const MAKERS = {
  async kysely(database: TestDatabase) {
    const { Kysely, PostgresDialect } = await import('kysely');
    const snippets = await import('../../../../docs/snippets/use-with-kysely.js');
    return on(snippets, new Kysely({ dialect: new PostgresDialect({ pool: database.pool(2) }) }), async () => {});
  },
  async drizzle(database: TestDatabase) {
    const { drizzle } = await import('drizzle-orm/node-postgres');
    const snippets = await import('../../../../docs/snippets/use-with-drizzle.js');
    return on(snippets, drizzle(database.pool(2)), async () => {});
  },
  async knex(database: TestDatabase) {
    const { default: knex } = await import('knex');
    const snippets = await import('../../../../docs/snippets/use-with-knex.js');
    const db = knex({ client: 'pg', connection: database.url, pool: { min: 0, max: 2 } });
    return on(snippets, db, () => db.destroy());
  },
  async typeorm(database: TestDatabase) {
    const { DataSource } = await import('typeorm');
    const snippets = await import('../../../../docs/snippets/use-with-typeorm.js');
    const source = await new DataSource({
      type: 'postgres',
      url: database.url,
      entities: [snippets.Order],
    }).initialize();
    return on(snippets, source, () => source.destroy());
  },
  async 'mikro-orm'(database: TestDatabase) {
    const { MikroORM } = await import('@mikro-orm/postgresql');
    const snippets = await import('../../../../docs/snippets/use-with-mikro-orm.js');
    const orm = await MikroORM.init({ clientUrl: database.url, entities: [snippets.Order] });
    return on(snippets, orm.em, () => orm.close(true));
  },
};

/** Opens a handle of this mapper on the database, and binds the snippets of its page to it. */
export function withOrm(name: keyof typeof MAKERS, database: TestDatabase): Promise<Orm> {
  return MAKERS[name](database);
}
