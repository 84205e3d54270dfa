import { afterThisTest, eventually } from '@comanda/test-support';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { absent, completed } from '../../src/index.js';
import { type Bench, bench, counting } from '../relay/setup.js';

const LONG = process.env['COMANDA_LONG'] === '1';

/** A pool whose sessions have these settings, as a role would give them. */
function poolWith(b: Bench, settings: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: b.database.url, max: 8, options: settings });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  afterThisTest(() => pool.end());
  return pool;
}

describe('settings of the relay’s role', () => {
  it('D12: short timeouts and rows that somebody locks: it goes on, warns now and then, and sends nothing twice', async () => {
    const b = await bench();
    const [effects, locked, ms] = LONG ? [200_000, 1_000, 120_000] : [20_000, 1_000, 15_000];
    for (let from = 0; from < effects; from += 5_000) {
      await b.rows(
        `select count(*) from comanda.decide_many((select jsonb_agg(jsonb_build_object('key', 'k' || n, 'actor', '{"type":"system","id":"t"}'::jsonb,
           'effects', jsonb_build_array(jsonb_build_object('kind', 'pay', 'payload', '{}'::jsonb)))) from generate_series($1::int, $2::int) n))`,
        [from + 1, Math.min(from + 5_000, effects)],
      );
    }
    const pool = poolWith(
      b,
      '-c statement_timeout=300ms -c lock_timeout=100ms -c idle_in_transaction_session_timeout=1s',
    );
    const pay = counting('pay', () => completed(), { concurrency: 64 });
    const relay = b.relay({ effects: [pay], database: pgStandalone(pool), lease: 5_000 });
    await relay.start();
    const locker = await b.database.connect();
    let over = false;
    const locking = (async () => {
      while (!over) {
        await locker.query('begin');
        await locker.query(`select from comanda.lane order by lane limit ${locked} for update`);
        await locker.query(`select from comanda.effect order by id desc limit ${locked} for update`);
        await locker.query('select pg_sleep(2)');
        await locker.query('commit');
        await locker.query('select pg_sleep(1)');
      }
    })();
    const perSecond: number[] = [];
    const start = performance.now();
    let next = start + 1_000;
    let before = 0;
    await eventually(
      () => {
        const now = performance.now();
        if (now >= next) {
          perSecond.push(pay.calls.size - before);
          before = pay.calls.size;
          next += 1_000;
        }
        return now > start + ms || pay.calls.size >= effects;
      },
      { what: 'the time being over', withinMs: ms + 10_000, everyMs: 20 },
    );
    over = true;
    await locking;
    expect(relay.status().state).toBe('running');
    expect(pay.calls.size).toBeGreaterThan(0);
    // It may stand still while every place it has waits for a locked row (2 s), never longer.
    if (pay.calls.size < effects) expect(perSecond.join(' ')).not.toMatch(/\b0 0 0\b/);
    expect([...pay.calls.values()].filter((n) => n > 1)).toEqual([]);
    const warnings = relay.events.filter((event) => event.type === 'warning' && event.error !== undefined);
    expect(warnings.length).toBeLessThanOrEqual(8 * (1 + ms / 10_000));
  }, 240_000);

  it('default_transaction_read_only: said once, nothing is done, and it goes on by itself', async () => {
    const b = await bench();
    const pool = poolWith(b, '');
    const pay = counting('pay');
    const relay = b.relay({ effects: [pay], database: pgStandalone(pool) });
    await relay.start();
    await b.rows(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
    );
    const ownWriter = await b.database.connect({ options: '-c default_transaction_read_only=off' });
    await ownWriter.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await ownWriter.query(
      `select * from comanda.decide('{"key":"a","actor":{"type":"system","id":"t"},"effects":[{"kind":"pay"}]}')`,
    );
    await eventually(() => relay.status().holds?.includes('the server is read-only'), { what: 'the relay holding' });
    const until = performance.now() + 2_500;
    await eventually(() => performance.now() > until, { what: 'more than two tries' });
    expect(relay.events.filter((event) => event.type === 'held')).toHaveLength(1);
    expect(pay.calls.size).toBe(0);
    await ownWriter.query(
      `do $$ begin execute format('alter database %I reset default_transaction_read_only', current_database()); end $$`,
    );
    await ownWriter.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await eventually(() => pay.calls.size === 1 && relay.status().holds === null, { what: 'the effect' });
  });

  it('D08: relays whose default isolation is serializable do all of it once and never stop', async () => {
    const b = await bench();
    const pool = poolWith(b, '-c default_transaction_isolation=serializable');
    const pay = counting('pay', () => completed(), { concurrency: 16 });
    const relays = [1, 2].map(() => b.relay({ effects: [pay], database: pgStandalone(pool) }));
    for (const relay of relays) await relay.start();
    const callers = Array.from({ length: 40 }, (_, n) =>
      b.effect(`o${n}`, 'pay', n % 2 === 0 ? { orderingKey: `k${n % 5}` } : {}),
    );
    await Promise.all(callers);
    await eventually(async () => Object.values(await b.states()).filter((s) => s === 'completed').length === 40, {
      what: 'all',
      withinMs: 30_000,
    });
    expect([...pay.calls.values()].filter((n) => n !== 1)).toEqual([]);
    expect(relays.map((relay) => relay.status().state)).toEqual(['running', 'running']);
  });
});

describe('a part of the sweep that fails', () => {
  it('does not undo the others, and is reported', async () => {
    const b = await bench();
    const pay = counting('pay');
    await b.rows(
      `create function public.spoil() returns trigger language plpgsql as 'begin raise exception ''spoilt''; end'`,
    );
    await b.rows(
      'create trigger spoil before update on comanda.effect_request for each row execute function public.spoil()',
    );
    await b.effect('due', 'pay', { delayMs: 1 });
    await b.rows(
      `insert into comanda.effect_request (effect_id, action, requested_by) values (987654321, 'skip', 'ada')`,
    );
    const relay = b.relay({ effects: [pay] });
    await relay.start();
    await eventually(async () => (await b.states())['due/pay'] === 'completed', { what: 'the first effect' });
    await b.rows(
      `insert into comanda.effect_request (effect_id, action, requested_by) select id, 'skip', 'ada' from comanda.effect`,
    );
    await b.effect('next', 'pay', { delayMs: 1 });
    await eventually(() => pay.calls.size === 2, { what: 'an effect that was due beside the failing part' });
    await eventually(
      () =>
        relay.events.some(
          (event) =>
            event.type === 'warning' &&
            event.code === 'sweep_part_failed' &&
            String(event.error).includes('requests: spoilt'),
        ),
      {
        what: 'the failing part being told',
      },
    );
  });
});

describe('a key whose use cannot be known after a restore', () => {
  it('an effect older than the key’s lifetime waits until the timeline is adopted', async () => {
    const b = await bench();
    const pay = counting('pay', () => completed(), {
      idempotency: { mode: 'key', lifetime: '1h', margin: '10m' },
      reconcile: async () => absent(),
    });
    await b.effect('old', 'pay');
    await b.effect('new', 'pay');
    await b.rows(
      `update comanda.effect set created_at = now() - interval '2 hours' where id = (select min(id) from comanda.effect)`,
    );
    await b.rows('update comanda.installation set timeline = 77');
    const relay = b.relay({ effects: [pay] });
    await relay.start();
    await eventually(async () => (await b.states())['new/pay'] === 'completed', { what: 'the younger one' });
    await eventually(
      async () => (await b.rows(`select from comanda.lane where parked_by = 'switch:installation:moved'`)).length === 1,
      { what: 'the older one waiting' },
    );
    expect(pay.calls.get('old/pay')).toBeUndefined();
    await b.rows(`select * from comanda.adopt('{"by":"ada","reason":"compared","acceptTimeline":true}')`);
    await eventually(async () => (await b.states())['old/pay'] === 'completed', { what: 'the older one' });
    expect(pay.calls.get('old/pay')).toBe(1);
  });
});
