import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Engine, engine, type Session } from './kit/engine.js';
import { claim, claimOne, decide, ended, head, route, settle } from './kit/steps.js';

type Step = (s: Engine) => Promise<unknown>;

const view = readFileSync(new URL('../../sql/views/22_gauges.sql', import.meta.url), 'utf8');
const attention = readFileSync(new URL('../../sql/views/21_attention.sql', import.meta.url), 'utf8');
const names = [...new Set([...view.matchAll(/(?:union all )?select '([a-z_]+)'/g)].map(([, name]) => name ?? ''))];

/** What makes each gauge move, with its label. A gauge that is missing here fails the first test. */
const MOVES: Readonly<Record<string, readonly [label: string, step: Step]>> = {
  effects_arrived: ['', (s) => one(s)],
  effects_queued: ['', routed],
  effects_waiting: ['delayed', (s) => one(s, { delayMs: 60_000 })],
  effects_waiting_overdue: [
    'delayed',
    async (s) => {
      await one(s, { delayMs: 60_000 });
      await s.rows(`update comanda.waiting set next_at = clock_timestamp() - interval '11 seconds'`);
    },
  ],
  lanes_leased: ['', taken],
  lanes_lease_expired: ['', lost],
  lanes_due: ['mail', routed],
  lanes_backing_off: ['mail', async (s) => settle(s, await taken(s), 'retry', { delayMs: 60_000 })],
  lanes_parked: ['failed', blocked],
  lanes_blocked: ['mail', blocked],
  oldest_blocked_age_ms: ['mail', blocked],
  lanes_without_relay: ['mail', routed],
  effects_unknown: [
    'mail',
    async (s) => {
      const c = await taken(s);
      await settle(s, c, 'block', { trouble: 'unknown', reason: 'unknown: ask', head: head(c, 'unknown') });
    },
  ],
  dead_letters: [
    'mail',
    async (s) => {
      const c = await taken(s);
      await settle(s, c, 'next', { ended: [ended(c, 'failed', { reason: 'failed: 422' })] });
    },
  ],
  oldest_arrival_age_ms: ['', (s) => one(s)],
  oldest_due_age_ms: ['', routed],
  oldest_sending_age_ms: ['', taken],
  oldest_expired_lease_age_ms: ['', lost],
  requests_open: ['cancel', requested],
  oldest_request_age_ms: ['', requested],
  targets_open: ['', (s) => target(s, `breaker = 'open'`)],
  targets_paused: ['', (s) => target(s, `paused_until = clock_timestamp() + interval '1 hour'`)],
  target_slots_shared: ['t', (s) => target(s, `concurrency = 5, shares = ${share('slots')}`)],
  target_rate_shared: ['t', (s) => target(s, `rate_per_second = 5, shares = ${share('rate')}`)],
  relays_live: ['', (s) => relay(s)],
  relays_holding: ['', (s) => relay(s, 'not adopted')],
  oldest_transaction_age_ms: ['', oldTransaction],
  transactions_held_back: ['', oldTransaction],
  switch_version: ['', (s) => s.call('switch_set', { scope: 'all', mode: 'hold', reason: 'r', by: 'ana' })],
};

/** Filling the server's notification queue is a matter of gigabytes. */
const UNMOVED = ['notification_queue_usage'];

test('every gauge is moved by a test', () => {
  expect([...Object.keys(MOVES), ...UNMOVED].sort()).toEqual([...names].sort());
});

test.each(Object.entries(MOVES))('%s moves', async (name, [label, step]) => {
  const s = await engine();
  const before = await gauge(s, name, label);
  await step(s);
  expect(await gauge(s, name, label)).toBeGreaterThan(before);
});

test('N03: the usage of the notification queue is a gauge between 0 and 1', async () => {
  const usage = await gauge(await engine(), 'notification_queue_usage', '');
  expect(usage).toBeGreaterThanOrEqual(0);
  expect(usage).toBeLessThan(1);
});

test.each(['effects_unknown', 'dead_letters'])('%s stands still for what has been repaired', async (name) => {
  const s = await engine();
  await MOVES[name]?.[1](s);
  expect(await gauge(s, name, 'mail')).toBe(1);
  const [effect] = await s.rows<{ id: number }>('select id from comanda.effect');
  const act = name === 'dead_letters' ? { action: 'redrive' } : { action: 'resolve', as: 'completed' };
  await s.call('request', { effect: effect?.id, by: 'ana', reason: 'r', ...act });
  await s.call('sweep', { relay: 'r1' });
  expect(await gauge(s, name, 'mail')).toBe(0);
});

describe('attention', () => {
  const rows = (s: Session) => s.rows<Record<string, unknown>>('select * from comanda.attention');

  test.each(['a superuser', 'comanda_reader'])(
    'G11: an old transaction, with process, name and age, as %s sees it',
    async (role) => {
      const s = await engine();
      const old = await s.session();
      await old.rows(`set application_name = 'report'`);
      const { pid } = await old.row<{ pid: number }>('select pg_backend_pid() as pid');
      await old.rows('begin isolation level repeatable read');
      await old.rows('select 1 from comanda.effect');
      onTestFinished(() => old.rows('rollback').then(() => undefined));
      const looker = role === 'a superuser' ? s : await s.session(role);
      expect(await rows(looker)).toEqual([]);
      // A minute, and ten thousand transactions, are made shorter here; the statement is the view's own.
      const text = attention
        .replace("interval '1 minute' else", "interval '0' else")
        .replace('> 10000 end', '>= 0 end');
      expect(text).not.toBe(attention);
      await s.rows(text);
      expect(await rows(looker)).toEqual([
        expect.objectContaining({
          what: 'old transaction',
          reason: expect.stringMatching(
            role === 'a superuser'
              ? new RegExp(`^process ${pid} \\(report, idle in transaction\\) has held an old snapshot for \\d+ s$`)
              : new RegExp(
                  `^process ${pid} \\(report, state not visible to this role\\) .* \\d+ transactions \\(membership in pg_read_all_stats`,
                ),
          ),
          what_to_do: expect.stringContaining(`pg_terminate_backend(${pid})`),
        }),
      ]);
    },
  );

  test('L18: leases that ended and that nobody took over', async () => {
    const s = await engine();
    await taken(s);
    await relay(s);
    await s.rows(`update comanda.lane set ready_at = clock_timestamp() - interval '11 seconds'`);
    expect(await rows(s)).toEqual([
      expect.objectContaining({ what: 'lease expired', kind: 'mail', reason: expect.stringMatching(/^1 lanes/) }),
    ]);
  });

  test('what is due and was not moved', async () => {
    const s = await engine();
    await relay(s);
    await one(s, { delayMs: 60_000 });
    await s.rows(`update comanda.waiting set next_at = clock_timestamp() - interval '2 minutes'`);
    expect(await rows(s)).toEqual([expect.objectContaining({ what: 'overdue', kind: 'mail' })]);
  });

  test('G07: due lanes of a kind that no live relay knows', async () => {
    const s = await engine();
    await routed(s);
    await s.rows(`insert into comanda.relay (id, kinds) values ('r1', array['other'])`);
    await s.rows(`update comanda.lane set ready_at = clock_timestamp() - interval '11 seconds'`);
    expect(await rows(s)).toEqual([expect.objectContaining({ what: 'no relay for this kind', kind: 'mail' })]);
  });
});

describe('the reference', () => {
  const page = readFileSync(new URL('../../../../docs/reference/gauges.md', import.meta.url), 'utf8');

  test('names every gauge, and no other', () => {
    const listed = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual([...names].sort());
  });

  test('names every row of attention, and no other', () => {
    const rowsOf = [...attention.matchAll(/^select '([^']+)'/gm)].map(([, what]) => what);
    const listed = [...page.matchAll(/^\| ([a-z ]+) \|/gm)]
      .map(([, what]) => what)
      .filter((what) => what !== 'what' && what !== 'gauge');
    expect(listed.sort()).toEqual([...new Set(rowsOf)].sort());
  });
});

test('100 000 queued effects: every gauge in one look, without reading all effects', async () => {
  const s = await engine();
  await s
    .rows(`select count(*) from comanda.decide_many((select jsonb_build_object('decisions', jsonb_agg(jsonb_build_object('key', 'd' || d, 'effects',
    (select jsonb_agg(jsonb_build_object('kind', 'k', 'name', 'n' || n, 'payload', '{}'::jsonb)) from generate_series(1, 20) n)))) from generate_series(1, 5) d))`)
    .catch(() => []);
  await s.rows(
    `insert into comanda.effect (run_id, name, kind, target, kind_version, payload) select 1000000 + n, 'mail', 'mail', 'mail', 1, '{}' from generate_series(1, 100000) n`,
  );
  await s.rows(
    `insert into comanda.effect_queue (lane, pos, effect_id, kind, target) select 'e:' || e.id, e.id, e.id, 'mail', 'mail' from comanda.effect e where e.run_id > 1000000`,
  );
  await s.rows(
    `insert into comanda.lane (lane, kind, target, ready_at, fence) select 'e:' || e.id, 'mail', 'mail', clock_timestamp(), 1 from comanda.effect e where e.run_id > 1000000`,
  );
  await s.rows(
    `insert into comanda.outcome (effect_id, fence, state, settled_by, attempts) select e.id, 1, 'failed', 'r', 1 from comanda.effect e where e.run_id > 1000000 and e.id % 50 = 0`,
  );
  await s.rows(`delete from comanda.lane l using comanda.outcome o where l.lane = 'e:' || o.effect_id`);
  await s.rows(
    `insert into comanda.effect (run_id, name, kind, target, kind_version, payload) select 2000000 + n, 'mail', 'mail', 'mail', 1, '{}' from generate_series(1, 100000) n`,
  );
  await s.rows(
    `insert into comanda.outcome (effect_id, fence, state, settled_by, attempts) select e.id, 1, 'completed', 'r', 1 from comanda.effect e where e.run_id > 2000000`,
  );
  await s.rows('analyze');
  const plan = (await s.rows<Record<string, string>>('explain (analyze, timing off) select * from comanda.gauges'))
    .map((row) => row['QUERY PLAN'] ?? '')
    .join('\n');
  expect(plan).not.toMatch(/Seq Scan on (effect|outcome|attempt|run) /);
  const took = Number(/Execution Time: ([\d.]+)/.exec(plan)?.[1]);
  // An alarm, not a target: two cores that did other things as well took 0.4 s.
  expect(took).toBeLessThan(5_000);
  expect(await gauge(s, 'dead_letters', 'mail')).toBe(2_000);
});

async function gauge(s: Session, name: string, label: string): Promise<number> {
  const [row] = await s.rows<{ value: number }>('select value from comanda.gauges where name = $1 and label = $2', [
    name,
    label,
  ]);
  return row?.value ?? 0;
}

function one(s: Engine, effect: Record<string, unknown> = {}) {
  return decide(s, 'a', [{ kind: 'mail', payload: {}, ...effect }], {});
}

async function routed(s: Engine): Promise<void> {
  await one(s);
  await route(s);
}

async function taken(s: Engine) {
  await one(s);
  await route(s);
  return await claimOne(s);
}

async function lost(s: Engine): Promise<void> {
  await taken(s);
  await s.rows(`update comanda.lane set ready_at = clock_timestamp() - interval '5 seconds'`);
}

async function blocked(s: Engine): Promise<void> {
  await one(s, { orderingKey: 'o' });
  await route(s);
  const [c] = await claim(s, {});
  if (c === undefined) throw new Error('nothing was claimed');
  await settle(s, c, 'block', { trouble: 'failed', headFailed: true, reason: 'failed: 422', head: head(c, 'failed') });
}

async function requested(s: Engine): Promise<void> {
  await one(s);
  await s.call('cancel', { key: 'a' });
}

async function target(s: Engine, set: string): Promise<void> {
  await s.rows(`insert into comanda.target (target) values ('t') on conflict do nothing`);
  await s.rows(`update comanda.target set ${set}`);
}

function share(of: string): string {
  return `jsonb_build_array(jsonb_build_object('relay', 'r1', '${of}', 3, 'until', extract(epoch from clock_timestamp()) * 1000 + 60000))`;
}

async function relay(s: Engine, holds?: string): Promise<void> {
  await s.rows('insert into comanda.relay (id, kinds, holds) values ($1, $2, $3)', ['r1', ['mail'], holds ?? null]);
}

/** A session that keeps a snapshot while transactions go by. */
async function oldTransaction(s: Engine): Promise<void> {
  const old = await s.session();
  await old.rows('begin isolation level repeatable read');
  await old.rows('select count(*) from comanda.effect');
  onTestFinished(() => old.rows('rollback').then(() => undefined));
  for (let i = 0; i < 3; i++) await s.rows('select pg_current_xact_id()');
}
