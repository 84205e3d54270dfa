import { eventually, startGateway, startTcpProxy, withDeadline } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { completed, defineEffect } from '../../src/index.js';
import { systemClock } from '../../src/kernel/clock.js';
import { createRelay } from '../../src/relay/index.js';
import { bench, counting, relayProcess } from './setup.js';

const ended = async (b: Awaited<ReturnType<typeof bench>>, state = 'completed') =>
  Object.values(await b.states()).every((s) => s === state);

describe('leases', () => {
  it('L01: a handler slower than its lease runs once, the lease is renewed', async () => {
    const b = await bench();
    const slow = counting('slow', async (_input, context) => {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      return context.signal.aborted ? { outcome: 'retry', notSent: true } : completed();
    });
    await b.effect('L01', 'slow');
    const relays = [b.relay({ effects: [slow], lease: 800 }), b.relay({ effects: [slow], lease: 800 })];
    await Promise.all(relays.map((relay) => relay.start()));
    await eventually(() => ended(b), { withinMs: 8_000, what: 'the slow effect' });
    expect([...slow.calls.values()]).toEqual([1]);
    expect(await b.rows('select attempts, state from comanda.effect_state')).toEqual([
      { attempts: 1, state: 'completed' },
    ]);
  });

  it('L02: a relay that was paused past its lease cannot settle; what it learned is kept', async () => {
    const b = await bench();
    const gateway = await startGateway({ control: { script: ['slow'], slowMs: 600 } });
    const first = relayProcess(b, {
      gateway: gateway.url,
      leaseMs: 1_000,
      timeoutMs: 20_000,
      name: 'first',
      verbose: true,
    });
    await first.line((line) => line['ready'] === true);
    await b.effect('L02', 'refund');
    await eventually(() => gateway.entries('received').length === 1, { what: 'the first request' });
    first.pause();
    const second = relayProcess(b, { gateway: gateway.url, leaseMs: 1_000 });
    await second.line((line) => line['ready'] === true);
    await eventually(() => ended(b), { withinMs: 15_000, what: 'the second relay finishing it' });
    const before = await b.rows('select * from comanda.outcome');
    first.resume();
    await first.line((line) => line['event'] === 'lease_lost', 15_000);
    expect(await b.rows('select * from comanda.outcome')).toEqual(before);
    expect(before).toHaveLength(1);
    expect(gateway.entries('accepted')).toHaveLength(1);
    // It keeps running and takes the next one.
    await second.kill('SIGKILL');
    await b.effect('L02-next', 'refund');
    await eventually(() => ended(b), { withinMs: 15_000, what: 'the next effect' });
  });

  it('L06, L18: what a killed relay held is taken over at lease expiry, by the same configuration under a new owner', async () => {
    const b = await bench();
    const gateway = await startGateway({ control: { mode: 'hang' } });
    const config = { gateway: gateway.url, leaseMs: 1_500, timeoutMs: 20_000, concurrency: 200, name: 'same-name' };
    await b.decide({
      key: 'L18',
      effects: Array.from({ length: 200 }, (_, i) => ({ kind: 'refund', name: `r${i}`, payload: { i } })),
    });
    const dead = relayProcess(b, config);
    await eventually(async () => (await b.rows('select 1 from comanda.lane where owner is not null')).length === 200, {
      withinMs: 15_000,
      what: '200 claims',
    });
    await dead.kill('SIGKILL');
    await gateway.control({ mode: 'normal' });
    const started = performance.now();
    relayProcess(b, config);
    await eventually(() => ended(b), { withinMs: 1_500 + 10_000, what: 'recovery within lease + 10 s' });
    expect(performance.now() - started).toBeLessThan(11_500);
    const owners = await b.rows<{ owner: string }>('select distinct owner from comanda.attempt');
    expect(owners).toHaveLength(1);
    const keys = gateway.entries('accepted').map((entry) => entry.key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(await b.rows(`select value from comanda.gauges where name = 'oldest_expired_lease_age_ms'`)).toEqual([
      { value: 0 },
    ]);
  });

  it('L08: an effect that kills its worker is dead after three starts; others flow', async () => {
    const b = await bench();
    await b.effect('poison', 'poison');
    let child = relayProcess(b, { leaseMs: 700 });
    let starts = 0;
    const supervise = (async () => {
      for (let round = 0; round < 12; round += 1) {
        const exit = await Promise.race([
          child.exited,
          eventually(async () => (await ended(b, 'failed')) && 'dead', { withinMs: 30_000, what: 'the quarantine' }),
        ]);
        starts += child.lines.filter((line) => typeof line === 'object' && line !== null && 'poison' in line).length;
        if (exit === 'dead') return;
        child = relayProcess(b, { leaseMs: 700 });
      }
    })();
    await withDeadline(supervise, 50_000, 'the quarantine of the poison effect');
    expect(starts).toBe(3);
    const [dead] = await b.rows<{ reason: string }>('select reason from comanda.outcome');
    expect(dead?.reason).toMatch(/worker lost/);
    await b.effect('healthy', 'noop');
    await eventually(async () => (await b.states())['healthy/noop'] === 'completed', { what: 'other effects' });
  });

  it('L09: ten graceful restarts burn no attempt', async () => {
    const b = await bench();
    await b.effect('L09', 'polite');
    for (let round = 0; round < 10; round += 1) {
      const relay = relayProcess(b, { leaseMs: 2_000, graceMs: 30, maxAttempts: 3 });
      await relay.line((line) => 'polite' in line, 15_000);
      const exit = await relay.kill('SIGTERM');
      expect(exit.code).toBe(0);
    }
    relayProcess(b, { leaseMs: 2_000, maxAttempts: 3, politeDone: true });
    await eventually(() => ended(b), { withinMs: 15_000, what: 'the effect' });
    const [state] = await b.rows<{ attempts: number }>('select attempts from comanda.effect_state');
    expect(state?.attempts).toBeLessThan(3);
  });

  it('L11: two relays, 1000 effects: 1000 calls with 1000 keys, owner and fence written before any call', async () => {
    const b = await bench();
    const holes: string[] = [];
    const check = counting('check', async (_input, context) => {
      const [row] = await b.rows<{ relay: string | null; fence: string }>(
        'select relay, fence::text from comanda.effect_state where idempotency_key = $1',
        [context.idempotencyKey],
      );
      if (row?.relay == null || row.fence !== context.fence) holes.push(context.idempotencyKey);
      return completed();
    });
    await b.decide({
      key: 'L11',
      effects: Array.from({ length: 1_000 }, (_, i) => ({ kind: 'check', name: `e${i}` })),
    });
    const relays = [b.relay({ effects: [check] }), b.relay({ effects: [check] })];
    await Promise.all(relays.map((relay) => relay.start()));
    await eventually(() => ended(b), { withinMs: 30_000, what: 'all effects' });
    expect(check.calls.size).toBe(1_000);
    expect([...check.calls.values()].every((n) => n === 1)).toBe(true);
    expect(holes).toEqual([]);
  });

  it('owner, fence and start row are on record, for everybody, before anything leaves', async () => {
    const b = await bench();
    const seen: Record<string, unknown> = {};
    const look = (kind: string, idempotency: 'key' | 'none') =>
      defineEffect({
        kind,
        idempotency,
        onUnknown: 'ask-human',
        perform: async (_input, context) => {
          const [row] = await b.rows(
            `select s.relay is not null as owned, s.fence::text = $2 as same_fence,
                exists (select from comanda.attempt a where a.effect_id = s.effect_id and a.fence = s.fence and a.phase = 'start') as started
              from comanda.effect_state s where s.idempotency_key = $1`,
            [context.idempotencyKey, context.fence],
          );
          seen[kind] = row;
          return completed();
        },
      });
    await b.effect('before', 'keyed');
    await b.effect('before-2', 'mail');
    await b.relay({ effects: [look('keyed', 'key'), look('mail', 'none')] }).start();
    await eventually(() => ended(b), { what: 'both effects' });
    expect(seen).toEqual({
      keyed: { owned: true, same_fence: true, started: false },
      mail: { owned: true, same_fence: true, started: true },
    });
  });

  it('L13: leases and timeouts that overflow are refused with the allowed range', () => {
    for (const lease of ['366d', '24.9d', 0, -1, Number.NaN, '1y']) {
      expect(() => bench0({ lease })).toThrow(/lease is .*(allowed is|expected)/);
    }
    for (const timeout of ['366d', '24.9d'])
      expect(() => counting('x', undefined, { timeout })).toThrow(/timeout is .*allowed is 1ms to 24d/);
  });

  it('L15: a handler learns within two seconds that its lease is gone; a settle with the old fence is refused', async () => {
    const b = await bench();
    let aborted = 0;
    const wait = counting('wait', async (_input, context) => {
      if (context.attempt > 1) return completed();
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
      aborted = performance.now();
      return completed();
    });
    await b.effect('L15', 'wait');
    const relay = b.relay({ effects: [wait], lease: 3_000 });
    await relay.start();
    await eventually(() => wait.calls.size === 1, { what: 'the handler' });
    const taken = performance.now();
    await b.rows(
      `update comanda.lane set fence = nextval('comanda.fence'), owner = 'somebody else', ready_at = clock_timestamp() + interval '1 hour'`,
    );
    await eventually(() => aborted > 0, { withinMs: 4_000, what: 'the abort signal' });
    expect(aborted - taken).toBeLessThan(2_000);
    await eventually(() => relay.events.some((event) => event.type === 'lease_lost'), { what: 'the refused settle' });
    expect(await b.rows('select * from comanda.outcome')).toEqual([]);
    expect(await b.rows(`select outcome from comanda.attempt where phase = 'late'`)).toEqual([
      { outcome: 'completed' },
    ]);
  });

  it('L16: nothing is handed out before the deciding transaction commits, and nothing ever after a rollback', async () => {
    const b = await bench();
    const calls = counting('refund');
    const relay = b.relay({ effects: [calls] });
    await relay.start();
    for (const end of ['commit', 'rollback']) {
      const client = await b.database.connect();
      await client.query('begin');
      await client.query('select * from comanda.decide($1::text::jsonb)', [
        JSON.stringify({
          key: `L16-${end}`,
          effects: [
            { kind: 'refund', orderingKey: 'o' },
            { kind: 'refund', name: 'second' },
          ],
        }),
      ]);
      // Other work flows meanwhile, so the relay has looked again and again.
      await b.effect(`L16-probe-${end}`, 'refund');
      await eventually(() => calls.calls.has(`L16-probe-${end}/refund`), { what: 'the probe' });
      expect([...calls.calls.keys()].filter((key) => key.startsWith(`L16-${end}`))).toEqual([]);
      await client.query(end);
      if (end === 'commit')
        await eventually(
          () => calls.calls.get('L16-commit/refund') === 1 && calls.calls.get('L16-commit/second') === 1,
          { what: 'the effects after COMMIT' },
        );
    }
    await b.effect('L16-last', 'refund');
    await eventually(() => calls.calls.has('L16-last/refund'), { what: 'the last probe' });
    expect([...calls.calls.keys()].filter((key) => key.startsWith('L16-rollback'))).toEqual([]);
    expect(await b.rows(`select 1 from comanda.run where key = 'L16-rollback'`)).toEqual([]);
  });

  it('T01: relays judge leases by the database clock, not by their own', async () => {
    const b = await bench();
    const slow = counting('slow', async () => {
      await new Promise((resolve) => setTimeout(resolve, 700));
      return completed();
    });
    await b.effect('T01', 'slow');
    const ahead = {
      ...systemClock,
      wallMs: () => systemClock.wallMs() + 600_000,
      monotonicMs: () => systemClock.monotonicMs() + 600_000,
    };
    const relays = [b.relay({ effects: [slow] }), b.relay({ effects: [slow], clock: ahead })];
    await Promise.all(relays.map((relay) => relay.start()));
    await eventually(() => ended(b), { what: 'the effect' });
    expect([...slow.calls.values()]).toEqual([1]);
  });

  it('D11: while ten providers take their time, no session of the relay is in a transaction and no row is locked', async () => {
    const b = await bench();
    let release: () => void = () => {};
    const answered = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = counting(
      'slow',
      async () => {
        await answered;
        return completed();
      },
      { concurrency: 10 },
    );
    for (let n = 0; n < 10; n += 1) await b.effect(`D11-${n}`, 'slow', n % 2 === 0 ? { orderingKey: `lane-${n}` } : {});
    const pool = b.database.pool(4, { application_name: 'the relay' });
    await b.relay({ effects: [slow], database: pgStandalone(pool), lease: 3_000 }).start();
    await eventually(() => slow.calls.size === 10, { what: 'ten handlers at work' });
    const judge = await b.database.connect();
    let renewed = 0;
    const samples = async (): Promise<boolean> => {
      const open = await judge.query(
        `select state, query from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'
           and application_name = 'the relay' and clock_timestamp() - state_change > interval '200 ms'`,
      );
      expect(open.rows).toEqual([]);
      const { rows } = await judge.query(
        `select (select count(*)::int from (select from comanda.effect for update skip locked) x) as effects,
           (select count(*)::int from (select from comanda.effect_queue for update skip locked) x) as queued`,
      );
      expect(rows).toEqual([{ effects: 10, queued: 10 }]);
      const lanes = await judge.query('select min(ready_at)::text as until from comanda.lane');
      if (lanes.rows[0].until !== before) renewed += 1;
      before = lanes.rows[0].until;
      return renewed >= 3;
    };
    let before: string | undefined;
    await eventually(samples, { what: 'leases being renewed again and again, and nothing else being held' });
    release();
    await eventually(() => ended(b), { what: 'the effects' });
    expect([...slow.calls.values()].every((n) => n === 1)).toBe(true);
  });

  it('D14: PostgreSQL goes away while an effect runs: the outcome is written when it is back', async () => {
    const b = await bench();
    const proxy = await startTcpProxy({ port: Number(new URL(b.database.url).port) });
    const pool = b.database.pool(4, { connectionString: proxy.through(b.database.url) });
    let release: () => void = () => {};
    const slow = counting('slow', async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return completed();
    });
    await b.effect('D14', 'slow');
    const relay = b.relay({ effects: [slow], database: pgStandalone(pool), lease: 10_000 });
    await relay.start();
    await eventually(() => slow.calls.size === 1, { what: 'the handler' });
    await proxy.refuse();
    proxy.cut();
    release();
    await eventually(() => relay.events.some((event) => event.type === 'warning'), {
      what: 'a warning about the database',
    });
    await proxy.heal();
    await eventually(() => ended(b), { withinMs: 15_000, what: 'the outcome' });
    expect([...slow.calls.values()]).toEqual([1]);
  });
});

/** A relay that is only constructed. */
function bench0(options: Record<string, unknown>): unknown {
  return createRelay({ database: { query: () => Promise.resolve([]) }, effects: [], ...options });
}
