import { queryable } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { checkVersion } from '../../../src/schema/version.js';
import { type Engine, engine } from '../../sql/kit/engine.js';
import {
  claim,
  claimOne,
  decide,
  ended,
  given,
  head,
  maySend,
  nothingWaits,
  settle,
  sweep,
} from '../../sql/kit/steps.js';

const FUNCTIONS: Readonly<Record<string, readonly string[]>> = {
  app: ['cancel', 'decide', 'decide_many', 'try_decide'],
  relay: [
    'adoption',
    'claim',
    'hidden_rows',
    'late_evidence',
    'may_send',
    'payloads',
    'publish_kinds',
    'relay_beat',
    'renew',
    'route',
    'set_awake',
    'settle',
    'sweep',
    'target_probe',
    'target_report',
    'targets_beat',
    'wake_channel',
  ],
  approver: [],
  operator: ['adopt', 'adoption', 'cancel', 'fingerprint', 'hidden_rows', 'request', 'switch_set', 'target_set'],
  reader: ['adoption', 'fingerprint', 'hidden_rows'],
};
const ROLES = Object.keys(FUNCTIONS);

/** A database in which nobody has a right on the schema public. */
async function strict(): Promise<Engine> {
  const s = await engine();
  await s.rows('revoke all on schema public from public');
  return s;
}

describe('G04: each role can do its job', () => {
  test('app: decides in its own transaction, takes back, reads what it decided', async () => {
    const s = await strict();
    await s.client.query(
      'create schema shop; create table shop.orders (id text primary key, state text); grant usage on schema shop to comanda_app; grant all on shop.orders to comanda_app',
    );
    const app = await s.session('comanda_app');
    await checkVersion(queryable(app.client), 'comanda');
    await app.rows('begin');
    await app.rows(`insert into shop.orders values ('ORD-2041', 'refunded')`);
    await app.call('decide', {
      key: 'k',
      effects: [
        { kind: 'mail', orderingKey: 'a' },
        { kind: 'mail', name: 'b', delayMs: 60_000 },
        { kind: 'mail', name: 'c' },
      ],
    });
    await app.rows('commit');
    await app.call('decide_many', [{ key: 'k2', effects: [] }]);
    expect((await app.call<{ status: string }>('try_decide', { key: 'k', effects: [] }))[0]?.status).toBe('conflict');
    expect(await app.call('cancel', { key: 'k', name: 'b' })).toEqual([
      expect.objectContaining({ answer: 'cancelled' }),
    ]);
    expect(await app.row(`select count(*) as n from comanda.outbox where run_key = 'k'`)).toEqual({ n: 3 });
    expect(await app.row(`select status from comanda.run_ledger where idempotency_key = 'k2'`)).toEqual({
      status: 'done',
    });
  });

  test('relay: routes, claims, asks, settles, sweeps, makes partitions - without a right to create', async () => {
    const s = await strict();
    await decide(s, 'k', [{ orderingKey: 'a' }, { name: 'b', delayMs: 1 }]);
    await nothingWaits(s);
    await s.client.query(`drop table comanda.audit_${new Date().toISOString().slice(0, 7).replace('-', '')}`);
    const relay = await s.session('comanda_relay');
    await checkVersion(queryable(relay.client), 'comanda');
    await relay.call('relay_beat', { relay: 'r1', kinds: ['mail'] });
    await relay.call('publish_kinds', {
      by: 'r1',
      kinds: [
        {
          kind: 'mail',
          version: 1,
          target: 'smtp',
          risk: 'reversible',
          idempotency: 'key',
          onUnknown: 'reconcile',
          maxAttempts: 3,
          timeoutMs: 1,
        },
      ],
    });
    await relay.rows('select comanda.set_awake(1000), comanda.wake_channel()');
    expect(await sweep(relay)).toMatchObject({ moved: 1, ran: true });
    expect(await relay.call('route', { relay: 'r1', leaseMs: 1000, kinds: [] })).toHaveLength(1);
    const c = given((await claim(relay, { batch: 1 })).find((x) => x.lane === 'k:a'));
    expect(await relay.call('payloads', { effects: [c.effect_id], suspects: [c.effect_id] })).toHaveLength(1);
    expect(await maySend(relay, c, { mark: true })).toBe('go');
    expect(
      await relay.call('renew', { relay: 'r1', leaseMs: 1000, lanes: [{ lane: c.lane, fence: c.fence }] }),
    ).toEqual([expect.objectContaining({ result: 'ok' })]);
    expect(await settle(relay, c, 'next', { ended: [ended(c)] })).toBe('ok');
    await relay.call('late_evidence', { relay: 'r1', items: [] });
    for (const view of ['attention', 'gauges', 'unattended', 'effect_state'])
      await relay.rows(`select * from comanda.${view}`);
  });

  test('operator: turns switches, asks for acts, takes back, reads everything about them', async () => {
    const s = await strict();
    const [id] = await decide(s, 'k', [{ orderingKey: 'a' }]);
    await s.call('route', { relay: 'r1', leaseMs: 1000, kinds: [] });
    const c = await claimOne(s);
    await settle(s, c, 'block', { trouble: 'unknown', reason: 'ask', head: head(c, 'unknown') });
    const operator = await s.session('comanda_operator');
    expect(await operator.rows('select what from comanda.attention')).toContainEqual({ what: 'unknown outcome' });
    expect(
      await operator.call('request', { effect: id, action: 'resolve', as: 'completed', by: 'ada', reason: 'seen' }),
    ).toEqual([expect.objectContaining({ answer: 'requested' })]);
    await operator.call('switch_set', { scope: 'all', mode: 'stop', by: 'ada', reason: 'fire' });
    await operator.call('cancel', { key: 'k' });
    expect(await operator.row('select count(*) as n from comanda.audit')).toEqual({ n: 2 });
    for (const table of ['run', 'effect', 'lane', 'attempt', 'outcome', 'switch', 'effect_request'])
      await operator.rows(`select * from comanda.${table}`);
  });

  test.each(['approver', 'reader'])('%s: reads', async (role) => {
    const s = await strict();
    await decide(s, 'k', [{}]);
    const reader = await s.session(`comanda_${role}`);
    await checkVersion(queryable(reader.client), 'comanda');
    expect(await reader.row('select status from comanda.outbox')).toEqual({ status: 'pending' });
    expect(await reader.row('select status from comanda.run_ledger')).toEqual({ status: 'pending' });
  });
});

describe('G04: and nothing else', () => {
  test('functions: exactly those of the role', async () => {
    const s = await strict();
    const rows = await s.rows<{ role: string; name: string }>(
      `select r.role, p.proname as name from unnest($1::text[]) r (role) join pg_proc p on p.pronamespace = 'comanda'::regnamespace and has_function_privilege('comanda_' || r.role, p.oid, 'execute') order by 1, 2`,
      [ROLES],
    );
    const found = Object.fromEntries(
      ROLES.map((role) => [role, rows.filter((x) => x.role === role).map((x) => x.name)]),
    );
    expect(found).toEqual(FUNCTIONS);
  });

  test('nothing is executable by PUBLIC, and PUBLIC does not even see the schema', async () => {
    const s = await engine();
    expect(
      await s.rows(
        `select p.proname from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g where p.pronamespace = 'comanda'::regnamespace and g.grantee = 0`,
      ),
    ).toEqual([]);
    expect(
      await s.rows(
        `select c.relname from pg_class c cross join lateral aclexplode(c.relacl) g where c.relnamespace = 'comanda'::regnamespace and g.grantee = 0`,
      ),
    ).toEqual([]);
    await s.rows('create role stranger_to_everything');
    const stranger = await s.session('stranger_to_everything');
    expect(await stranger.sqlstate('select * from comanda.outbox')).toBe('42501');
    expect(await stranger.sqlstate(`select * from comanda.decide('{}')`)).toBe('42501');
    await stranger.rows('reset role');
    await s.rows('drop role stranger_to_everything');
  });

  test('no role can write a table, lock one against the others, read a sequence or create anything', async () => {
    const s = await strict();
    const rights = await s.rows(
      `select r.role, c.relname, p.privilege from unnest($1::text[]) r (role) cross join pg_class c cross join unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) p (privilege)
        where c.relnamespace = 'comanda'::regnamespace and c.relkind in ('r', 'p', 'v') and has_table_privilege('comanda_' || r.role, c.oid, p.privilege)`,
      [ROLES],
    );
    expect(rights).toEqual([]);
    expect(
      await s.rows(
        `select c.relname from unnest($1::text[]) r (role) cross join pg_class c where c.relnamespace = 'comanda'::regnamespace and c.relkind = 'S'
      and has_sequence_privilege('comanda_' || r.role, c.oid, 'usage, select, update')`,
        [ROLES],
      ),
    ).toEqual([]);
    expect(
      await s.rows(
        `select role from unnest($1::text[]) r (role) where has_schema_privilege('comanda_' || role, 'comanda', 'create') or has_database_privilege('comanda_' || role, current_database(), 'create')`,
        [ROLES],
      ),
    ).toEqual([]);
  });

  test.each([
    ['app', `select * from comanda.lane`],
    ['app', `select * from comanda.switch`],
    ['app', `select * from comanda.claim('{"relay":"r","leaseMs":1,"kinds":[]}')`],
    ['app', `select * from comanda.settle('{}')`],
    ['app', `select * from comanda.switch_set('{"scope":"all","mode":"run","by":"x","reason":"y"}')`],
    ['app', `select * from comanda.request('{}')`],
    ['app', `select comanda.apply_request(1)`],
    ['app', `insert into comanda.effect (run_id, name, kind, target, payload) values (1, 'a', 'a', 'a', '{}')`],
    ['app', `lock table comanda.outbox in row exclusive mode`],
    ['app', `lock table comanda.outbox in access exclusive mode`],
    ['app', `select * from comanda.outbox for update`],
    ['app', `delete from comanda.outbox`],
    ['relay', `select * from comanda.decide('{}')`],
    ['relay', `select * from comanda.run`],
    ['relay', `select * from comanda.switch_set('{"scope":"all","mode":"run","by":"x","reason":"y"}')`],
    ['relay', `select comanda.ensure_partitions(now())`],
    ['relay', `update comanda.lane set owner = null`],
    ['operator', `update comanda.switch set mode = 'run'`],
    ['operator', `delete from comanda.audit`],
    ['operator', `select * from comanda.lane for update`],
    ['operator', `select * from comanda.settle('{}')`],
    ['operator', `select * from comanda.decide('{}')`],
    ['reader', `select * from comanda.cancel('{"key":"k"}')`],
    ['reader', `update comanda.installation set environment = 'x'`],
    ['approver', `select * from comanda.run`],
  ])('%s may not: %s', async (role, sql) => {
    const s = await strict();
    const session = await s.session(`comanda_${role}`);
    await session.rows('begin');
    // 0A000: the view has rows that cannot be locked.
    expect(await session.sqlstate(sql)).toMatch(/^(42501|0A000)$/);
  });

  test('a write through a view names the function, for those who read it', async () => {
    const s = await strict();
    const app = await s.session('comanda_app');
    expect(await app.sqlstate(`update comanda.outbox set status = 'done'`)).toBe('CM008');
    expect(await app.sqlstate(`insert into comanda.run_ledger (idempotency_key) values ('x')`)).toBe('CM008');
  });

  test('objects of the caller’s own search_path are not what our functions use', async () => {
    const s = await strict();
    await s.client.query(`create schema evil; grant all on schema evil to comanda_app;
      create function evil.octet_length(text) returns int language sql as 'select 0';
      create function evil.nullif_probe() returns int language sql as 'select 1'`);
    const app = await s.session('comanda_app');
    await app.rows('set search_path = evil, pg_catalog, comanda');
    await app.rows('create temp table run (key text)');
    expect(
      await app.sqlstate('select * from comanda.decide($1::text::jsonb)', [
        JSON.stringify({ key: 'x'.repeat(513), effects: [] }),
      ]),
    ).toBe('CM002');
    await app.rows(`select * from comanda.decide('{"key":"k","effects":[{"kind":"mail"}]}')`);
    expect(await s.row('select count(*) as n from comanda.run')).toEqual({ n: 1 });
  });
});
