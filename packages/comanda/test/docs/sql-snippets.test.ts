import { readFileSync } from 'node:fs';
import { createDatabase } from '@comanda/test-support';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';

/** Regions of a snippet file, in order; the whole file when it has none. */
function regions(file: string): Map<string, string> {
  const text = readFileSync(new URL(`../../../../docs/snippets/${file}`, import.meta.url), 'utf8');
  const found = [...text.matchAll(/-- #region (\S+)\n([\s\S]*?)-- #endregion/g)].map(
    ([, name = '', sql = '']): [string, string] => [name, sql],
  );
  return new Map(found.length === 0 ? [['all', text]] : found);
}

/** Runs a region as psql would: statement after statement. Returns the rows of the last one that has any. */
async function run(client: pg.Client, sql: string | undefined): Promise<Record<string, unknown>[]> {
  const results: unknown = await client.query(sql ?? '');
  const list = (Array.isArray(results) ? results : [results]) as pg.QueryResult[];
  return list.findLast(({ fields, rows }) => fields.length > 0 && rows.length > 0)?.rows ?? [];
}

async function shop(): Promise<pg.Client> {
  const client = await (await createDatabase()).connect();
  await client.query(
    `create table orders (id text primary key, status text not null, total numeric, currency text);
     insert into orders select 'ORD-' || n, 'paid', 2154.00, 'MXN' from generate_series(2041, 2045) n`,
  );
  return client;
}

describe('SQL of the manual runs', () => {
  it('readme.sql', async () => {
    const client = await shop();
    const sql = regions('readme.sql');
    const [decided] = await run(client, sql.get('decide'));
    expect(decided).toMatchObject({ created: true, run_key: 'refund:ORD-2041' });
    expect(await run(client, sql.get('look'))).toMatchObject([{ effect_type: 'issue_refund', status: 'pending' }]);
    expect(await run(client, sql.get('decide'))).toMatchObject([{ created: false }]);
    expect((await client.query('select * from comanda.effect')).rows).toHaveLength(1);
  });

  it('decide-from-sql.sql', async () => {
    const client = await shop();
    const sql = regions('decide-from-sql.sql');
    expect(await run(client, sql.get('one-statement'))).toMatchObject([{ created: true }]);
    // The payload keeps the digits of the column.
    expect((await client.query('select payload from comanda.effect')).rows).toEqual([
      { payload: '{"order": "ORD-2041", "amount": 2154.00, "currency": "MXN"}' },
    ]);
    const [refused] = await run(client, sql.get('try'));
    expect(refused).toMatchObject({ status: 'conflict', created: false });
    expect(await run(client, sql.get('many'))).toMatchObject([{ status: 'decided' }, { status: 'decided' }]);
    expect(await run(client, sql.get('cancel'))).toEqual([{ name: 'crm_note', answer: 'requested' }]);
    expect(await run(client, sql.get('look'))).toEqual([{ status: 'pending', effects: 1, open_effects: 1 }]);
  });

  it('R08: decide-from-sql.sql, run by three clients at once', async () => {
    const database = await createDatabase();
    const clients = await Promise.all([database.connect(), database.connect(), database.connect()]);
    await clients[0]?.query(
      `create table orders (id text primary key, status text, total numeric, currency text);
       insert into orders values ('ORD-2041', 'paid', 2154.00, 'MXN')`,
    );
    const sql = regions('decide-from-sql.sql').get('one-statement');
    const answers = (await Promise.all(clients.map((client) => run(client, sql)))).flat();
    expect(new Set(answers.map((row) => row['run_id'])).size).toBe(1);
    expect(answers.map((row) => row['created']).sort()).toEqual([false, false, true]);
  });

  it('parameter.sql', async () => {
    const client = await shop();
    const { rows } = await client.query(regions('parameter.sql').get('all') ?? '', ['{"key": "k", "effects": []}']);
    expect(rows).toMatchObject([{ created: true }]);
  });

  it('handle-unknown.sql', async () => {
    const client = await shop();
    const sql = regions('handle-unknown.sql');
    await client.query(
      `select comanda.decide('{"key":"mail:ORD-2041","effects":[{"kind":"mail","payload":{}}]}');
       select comanda.route('{"relay":"r","leaseMs":30000,"kinds":[{"kind":"mail","lanes":1}]}');
       select comanda.settle(jsonb_build_object('relay', 'r', 'lanes', jsonb_build_array(jsonb_build_object('lane', l.lane, 'fence', l.fence, 'mode', 'block',
         'trouble', 'unknown', 'reason', 'unknown', 'head', jsonb_build_object('effect', q.effect_id, 'attempt', 1, 'outcome', 'unknown')))))
         from comanda.lane l join comanda.effect_queue q on q.lane = l.lane`,
    );
    expect(await run(client, sql.get('find'))).toMatchObject([{ run_key: 'mail:ORD-2041', kind: 'mail' }]);
    expect(await run(client, sql.get('evidence'))).toMatchObject([{ phase: 'end', outcome: 'unknown' }]);
    expect(await run(client, sql.get('resolve'))).toEqual([{ answer: 'requested' }]);
    await client.query(`select comanda.sweep('{"relay":"r"}')`);
    expect(await run(client, sql.get('answered'))).toMatchObject([
      { action: 'resolve', answer: 'resolved as completed' },
    ]);
    const { rows } = await client.query(`select state, provider_id, ended_by from comanda.effect_state`);
    expect(rows).toEqual([{ state: 'completed', provider_id: 'msg_8c21', ended_by: 'ana@cumbre.example' }]);
  });

  it('adopt-a-database.sql', async () => {
    const client = await (await createDatabase({ adopted: false })).connect();
    const wrong = 'select wrong is not null as yes from comanda.adoption(null)';
    expect(await run(client, wrong)).toEqual([{ yes: true }]);
    expect(await run(client, regions('adopt-a-database.sql').get('adopt'))).toMatchObject([{ environment: 'test' }]);
    expect(await run(client, wrong)).toEqual([{ yes: false }]);
  });

  it('stop-everything.sql', async () => {
    const client = await shop();
    const sql = regions('stop-everything.sql');
    expect(await run(client, sql.get('stop'))).toMatchObject([{ scope: 'all', mode: 'stop' }]);
    await client.query(`select comanda.decide('{"key":"k","effects":[{"kind":"mail"}]}')`);
    const claims = `select comanda.route('{"relay":"r","leaseMs":30000,"kinds":[{"kind":"mail","lanes":1}]}');
      select * from comanda.claim('{"relay":"r","leaseMs":30000,"kinds":[{"kind":"mail","lanes":1}]}')`;
    expect(((await client.query(claims)) as unknown as pg.QueryResult[]).at(-1)?.rows).toEqual([]);
    await client.query(`select comanda.relay_beat('{"relay":"r","kinds":["mail"],"switchVersion":1}')`);
    expect(await run(client, sql.get('confirm'))).toMatchObject([{ id: 'r', heard: true }]);
    expect(await run(client, sql.get('scope'))).toMatchObject([{ scope: 'target:payments', mode: 'hold' }]);
    expect(await run(client, sql.get('start'))).toMatchObject([{ scope: 'all', mode: 'run' }]);
    expect(((await client.query(claims)) as unknown as pg.QueryResult[]).at(-1)?.rows).toHaveLength(1);
    expect(await run(client, sql.get('who'))).toMatchObject([{ mode: 'stop' }, { mode: 'hold' }, { mode: 'run' }]);
  });

  it('roles.sql', async () => {
    const client = await shop();
    const sql = regions('roles.sql');
    // Roles belong to the server, not to the database of this test.
    await client.query(
      'begin; create role shop login; create role shop_relay login; create role ana login; create role grafana login',
    );
    await run(client, sql.get('grant'));
    await run(client, sql.get('timeout'));
    await client.query('set local role shop');
    expect((await client.query(`select created from comanda.decide('{"key":"k","effects":[]}')`)).rows).toEqual([
      { created: true },
    ]);
    await expect(client.query('select * from comanda.claim($1)', ['{}'])).rejects.toMatchObject({ code: '42501' });
    await client.query('rollback');
  });

  it('first-refund/refund.sql', async () => {
    const client = await shop();
    await client.query('alter table orders drop column total, drop column currency');
    expect(await run(client, regions('first-refund/refund.sql').get('all'))).toMatchObject([{ created: true }]);
  });
});
