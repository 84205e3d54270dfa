import { createDatabase, withClient } from '@comanda/test-support';
import { describe, expect, inject, it } from 'vitest';

const exists = (name: string) =>
  withClient(inject('pgUrl'), async (admin) => {
    const { rows } = await admin.query<{ n: number }>('select count(*)::int as n from pg_database where datname = $1', [
      name,
    ]);
    return rows[0]?.n === 1;
  });

describe('a database of a test', () => {
  it('is empty and its own', async () => {
    const a = await createDatabase({ template: false });
    const b = await createDatabase({ template: false });
    const client = await a.connect();
    await client.query('create table t as select 1 as n');
    const other = await b.connect();
    expect((await other.query("select to_regclass('t') as t")).rows).toEqual([{ t: null }]);
  });

  it('has the schema of the product when it is copied from the template', async (context) => {
    const template = inject('pgTemplate');
    if ('missing' in template) return context.skip(`there is no template: ${template.missing}`);
    const database = await createDatabase();
    const client = await database.connect();
    const { rows } = await client.query("select to_regnamespace('comanda') is not null as installed");
    expect(rows).toEqual([{ installed: true }]);
  });

  it('is dropped with connections still open, checked out or replicating', async () => {
    const database = await createDatabase({ template: false });
    const idle = database.pool(2);
    await idle.query('select 1');
    const leaked = await database.pool(2).connect();
    await leaked.query('begin');
    const client = await database.connect();
    await client.query("select pg_create_logical_replication_slot('s_' || pg_backend_pid(), 'pgoutput')");
    await database.drop();
    expect(await exists(database.name)).toBe(false);
    await expect(leaked.query('select 1')).rejects.toThrow();
  });

  it('survives a pool whose connections are ended by the server', async () => {
    const database = await createDatabase({ template: false });
    const pool = database.pool(3);
    await Promise.all([1, 2, 3].map(() => pool.query('select pg_backend_pid()')));
    await withClient(inject('pgUrl'), (admin) =>
      admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [database.name]),
    );
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

let dropped = '';
it('is left to be dropped by itself', async () => {
  dropped = (await createDatabase({ template: false })).name;
  expect(await exists(dropped)).toBe(true);
});
it('is gone after the test', async () => {
  expect(await exists(dropped)).toBe(false);
});
