import { expect, test } from 'vitest';
import { type Engine, engine, type Session } from './kit/engine.js';
import { claim, decide, decideInOrder, ended, nothingWaits, route, settle, sweep } from './kit/steps.js';

/** A relay whose statements end after 2 s: one that waited for a caller would fail. */
async function relay(s: Engine): Promise<Session> {
  const session = await s.session();
  await session.rows(`set statement_timeout = '2s'`);
  return session;
}

test('P5: whatever an open transaction of a caller holds, the work of others goes on', async () => {
  const s = await engine();
  const work = await relay(s);
  // What the caller will lay hands on: waiting, arrived, queued, leased and dead effects.
  await decide(s, 'waiting', [
    { name: 'a', delayMs: 1 },
    { name: 'b', orderingKey: 'x', cancelWindowMs: 1 },
  ]);
  await nothingWaits(s);
  await decideInOrder(s, 'x', 2);
  await route(work);
  const [leased] = await claim(work, { lanes: 1 });
  await decide(s, 'arrived', [{ orderingKey: 'x' }, { name: 'b' }]);

  const caller = await s.session();
  await caller.rows('begin');
  await decide(caller, 'mine', [
    { orderingKey: 'x' },
    { name: 'b' },
    { name: 'c', orderingKey: 'y' },
    { name: 'd', delayMs: 1 },
  ]);
  await caller.rows('set constraints all immediate');
  for (const key of ['waiting', 'arrived', 'x-1', 'x-2', 'mine']) await caller.call('cancel', { key });
  for (const { id } of await caller.rows<{ id: number }>('select id from comanda.effect')) {
    for (const action of ['skip', 'redrive'])
      await caller.call('request', { effect: id, action, by: 'ada', reason: 'r' });
  }
  await caller.call('switch_set', { scope: 'kind:other', mode: 'stop', by: 'ada', reason: 'r' });
  for (const view of ['outbox', 'run_ledger', 'effect_state', 'attention', 'gauges', 'unattended'])
    await caller.rows(`select * from comanda.${view}`);

  // Others: route, claim, settle, sweep, decide, beat.
  await decide(s, 'later', [{ orderingKey: 'z' }, { name: 'b' }]);
  await route(work);
  expect(await settle(work, leased, 'next', { ended: [ended(leased)] })).toBe('ok');
  expect(await sweep(work), 'the caller holds both that wait').toMatchObject({ ran: true, moved: 0 });
  const taken = await claim(work, { batch: 10 });
  expect(new Set(taken.map((c) => c.lane)).size).toBeGreaterThanOrEqual(4);
  for (const name of new Set(taken.map((c) => c.lane))) {
    const of = taken.filter((c) => c.lane === name);
    expect(await settle(work, of[0], 'next', { ended: of.map((c) => ended(c)) })).toBe('ok');
  }
  await work.call('relay_beat', { relay: 'r1', kinds: ['mail'] });
  await work.call('renew', { relay: 'r1', leaseMs: 1000, lanes: [] });
  expect(
    await s.row(
      'select (select count(*) from comanda.effect_queue) + (select count(*) from comanda.effect_arrival) as n',
    ),
  ).toEqual({ n: 0 });
  await caller.rows('commit');
  await route(work);
  expect((await sweep(work)).answered).toBeGreaterThan(0);
  expect(await s.rows('select * from comanda.unattended')).toEqual([]);
});

test('a new month: making its partitions does not queue everybody behind a transaction that has read the outbox', async () => {
  const s = await engine();
  const work = await relay(s);
  await decideInOrder(s, 'x', 1);
  await route(work);
  const [c] = await claim(work);
  const reader = await s.session();
  await reader.rows('begin');
  await reader.rows('select * from comanda.outbox');
  expect(await work.row(`select comanda.ensure_partitions('2031-05-15') as made`)).toEqual({ made: 0 });
  expect(await settle(work, c, 'next', { ended: [ended(c)] })).toBe('ok');
  await reader.rows('commit');
  expect(await work.row(`select comanda.ensure_partitions('2031-05-15') as made`)).toEqual({ made: 9 });
  expect(await work.row(`select comanda.ensure_partitions('2031-05-15') as made`)).toEqual({ made: 0 });
});

test('rows that the default partition caught move to their month, and the sweep goes on', async () => {
  const s = await engine();
  await s.rows(
    `insert into comanda.audit (at, actor, act, subject) values ('2031-05-01 00:00:00Z', 'a', 'b', 'c'), ('2031-06-30 23:59:59.999Z', 'a', 'b', 'c')`,
  );
  await s.rows(
    `insert into comanda.attempt (effect_id, fence, phase, at, attempt, outcome) values (1, 1, 'end', '2031-05-31 23:00:00Z', 1, 'retry')`,
  );
  await s.rows(`set timezone = 'Asia/Kolkata'`);
  await s.rows(`set datestyle = 'SQL, DMY'`);
  expect(await s.row(`select comanda.ensure_partitions('2031-05-31 23:30:00Z') as made`)).toEqual({ made: 9 });
  const where = await s.rows<{ t: string }>(
    `select tableoid::regclass::text as t from comanda.audit union all select tableoid::regclass::text from comanda.attempt order by t`,
  );
  expect(where.map(({ t }) => t.replace('comanda.', ''))).toEqual(['attempt_203105', 'audit_203105', 'audit_203106']);
  // New rows, and identity columns, work through the parent as before.
  await s.rows(`insert into comanda.audit (at, actor, act, subject) values ('2031-05-02Z', 'a', 'b', 'c')`);
  expect(await s.row('select count(distinct id) as n from comanda.audit')).toEqual({ n: 3 });
});
