import { eventually, type ProviderHandle, startGateway, startMail } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { completed } from '../../src/index.js';
import { systemRandom } from '../../src/kernel/ids.js';
import { type Bench, bench, counting, relayProcess } from './setup.js';

const LONG = process.env['COMANDA_LONG'] === '1';

const unfinished = async (b: Bench): Promise<number> =>
  Number(
    (
      await b.rows<{ n: string }>(
        'select count(*) n from comanda.effect e where not exists (select from comanda.outcome o where o.effect_id = e.id)',
      )
    )[0]?.n,
  );

/** The gateway's own book against the database: what was accepted twice, and what was never accepted. */
async function judge(b: Bench, gateway: ProviderHandle): Promise<{ lost: string[]; doubled: string[] }> {
  const accepted = new Map<string, number>();
  for (const entry of gateway.entries('accepted'))
    accepted.set(String(entry.key), (accepted.get(String(entry.key)) ?? 0) + 1);
  const keys = (
    await b.rows<{ k: string }>(
      `select coalesce(e.explicit_key, r.key || '/' || e.name) k from comanda.effect e join comanda.run r on r.id = e.run_id where e.kind = 'refund'`,
    )
  ).map((row) => row.k);
  return {
    lost: keys.filter((key) => !accepted.has(key)),
    doubled: [...accepted].filter(([, n]) => n > 1).map(([key]) => key),
  };
}

async function manyEffects(b: Bench, count: number, kind: string, prefix: string): Promise<void> {
  await b.rows(
    `select count(*) from generate_series(1, $1::int) g cross join lateral comanda.decide(jsonb_build_object('key', $3::text || g, 'subject', 'order:' || g, 'actor', '{"type":"system","id":"t"}'::jsonb,
       'effects', jsonb_build_array(jsonb_build_object('kind', $2::text, 'payload', jsonb_build_object('n', g)))))`,
    [count, kind, prefix],
  );
}

describe('relays are killed, paused and starved', () => {
  it('M10: two relays, 10 000 effects, 20 random kill -9: every key is accepted once', async () => {
    const b = await bench();
    const gateway = await startGateway();
    const total = 10_000;
    const kills = 20;
    const config = { gateway: gateway.url, leaseMs: 1_500, timeoutMs: 700, concurrency: 48 };
    const relays = [relayProcess(b, config), relayProcess(b, config)];
    await manyEffects(b, total, 'refund', 'M10-');
    let killed = 0;
    while (killed < kills) {
      const goal = Math.floor(((killed + 0.3 + systemRandom() * 0.6) * total) / (kills + 1));
      await eventually(async () => (await gateway.stats()).accepted >= goal, {
        withinMs: 30_000,
        everyMs: 3,
        what: `acceptance number ${goal} (${killed} kills so far)`,
      });
      const victim = Math.floor(systemRandom() * 2);
      await relays[victim]?.kill('SIGKILL');
      relays[victim] = relayProcess(b, config);
      killed += 1;
    }
    await eventually(async () => (await unfinished(b)) === 0, { withinMs: 60_000, everyMs: 100, what: 'the rest' });
    expect(await judge(b, gateway)).toEqual({ lost: [], doubled: [] });
    expect(await b.unattended()).toBe(0);
    expect((await gateway.stats()).accepted).toBe(total);
  }, 150_000);

  it('M10: a non-idempotent kind under kills: each mail once, unknown ones reconciled', async () => {
    const b = await bench();
    const mail = await startMail({ control: { rates: { acceptDrop: 0.05, dropBefore: 0.05, error500: 0.03 } } });
    const config = { mail: mail.url, leaseMs: 1_000, timeoutMs: 400, concurrency: 16 };
    const relays = [relayProcess(b, config), relayProcess(b, config)];
    await b.rows(
      `select count(*) from generate_series(1, 300) g cross join lateral comanda.decide(jsonb_build_object('key', 'mail-' || g, 'effects', jsonb_build_array(jsonb_build_object('kind', 'mail', 'payload', jsonb_build_object('to', 'a@example.test', 'reference', 'ref-' || g)))))`,
    );
    for (let killed = 0; killed < 5; killed += 1) {
      await eventually(async () => (await mail.stats()).accepted >= 40 * (killed + 1), {
        withinMs: 30_000,
        everyMs: 3,
        what: `mail ${40 * (killed + 1)}`,
      });
      await relays[killed % 2]?.kill('SIGKILL');
      relays[killed % 2] = relayProcess(b, config);
    }
    await eventually(async () => (await unfinished(b)) === 0, { withinMs: 60_000, everyMs: 100, what: 'the rest' });
    const references = mail
      .entries('accepted')
      .map((entry) => (JSON.parse(entry.body) as { reference: string }).reference);
    expect(references.length).toBe(300);
    expect(new Set(references).size).toBe(300);
    expect((await b.rows(`select 1 from comanda.attempt where outcome = 'unknown'`)).length).toBeGreaterThan(0);
    expect((await b.rows(`select 1 from comanda.attempt where outcome = 'applied'`)).length).toBeGreaterThan(0);
    expect(await b.unattended()).toBe(0);
  }, 150_000);

  it('a caller that holds whatever the doors allow does not delay anybody else', async () => {
    const b = await bench();
    const other = counting('noop', undefined, { concurrency: 100 });
    await b.effect('waits', 'noop', { delayMs: 3_600_000 });
    await b.effect('arrived', 'absent_kind', { orderingKey: 'k' });
    const relay = b.relay({ effects: [other] });
    await relay.start();
    const caller = await b.database.connect();
    await caller.query('begin');
    await caller.query(
      `select * from comanda.decide('{"key":"open","effects":[{"kind":"noop","orderingKey":"k"},{"kind":"noop","name":"u"},{"kind":"noop","name":"d","delayMs":1}]}')`,
    );
    await caller.query(`select * from comanda.cancel('{"key":"waits","by":"me","reason":"r"}')`);
    await caller.query(`select * from comanda.cancel('{"key":"arrived","by":"me","reason":"r"}')`);
    await caller.query(
      `select * from comanda.request(jsonb_build_object('effect', (select effect_id from comanda.effect_state where run_key = 'arrived'), 'action', 'skip', 'by', 'me', 'reason', 'r'))`,
    );
    await caller.query(`set constraints all immediate`);
    const started = performance.now();
    await manyEffects(b, 1_000, 'noop', 'free-');
    await eventually(() => other.calls.size === 1_000, { withinMs: 30_000, what: '1000 other effects' });
    expect(performance.now() - started).toBeLessThan(30_000);
    await caller.query('rollback');
  });

  it('a relay stopped at any statement: another relay goes on within the statement timeout', async () => {
    const b = await bench();
    for (const pauseAt of [
      'route',
      'claim',
      'payloads',
      'may_send',
      'settle',
      'sweep',
      'relay_beat',
      'set_awake',
      'publish_kinds',
    ]) {
      const stuck = relayProcess(b, {
        pauseAt,
        pauseAfter: pauseAt === 'relay_beat' ? 2 : 1,
        leaseMs: 1_000,
        statementTimeoutMs: 2_000,
        name: `stuck-${pauseAt}`,
      });
      await manyEffects(b, 20, 'noop', `before-${pauseAt}-`);
      await stuck.line((line) => 'paused' in line, 15_000);
      const free = relayProcess(b, { leaseMs: 1_000, statementTimeoutMs: 2_000 });
      await manyEffects(b, 100, 'noop', `after-${pauseAt}-`);
      await eventually(async () => (await unfinished(b)) === 0, {
        withinMs: 15_000,
        everyMs: 50,
        what: `work going on while another relay is stopped at ${pauseAt}`,
      });
      expect(await b.unattended()).toBe(0);
      await stuck.kill('SIGKILL');
      await free.kill('SIGKILL');
    }
  }, 180_000);

  it(`a gateway that hangs: every order is decided, other kinds flow, the backlog drains, nothing lost or doubled`, async () => {
    const b = await bench();
    const gateway = await startGateway();
    const hangMs = LONG ? 30_000 : 5_000;
    const other = counting('crm');
    for (const _ of [1, 2]) relayProcess(b, { gateway: gateway.url, leaseMs: 2_000, timeoutMs: 800 });
    await b.relay({ effects: [other] }).start();
    await gateway.control({ mode: 'hang' });
    const until = performance.now() + hangMs;
    let orders = 0;
    let slowest = 0;
    while (performance.now() < until) {
      const started = performance.now();
      await b.decide({
        key: `hung-${orders}`,
        actor: { type: 'system', id: 't' },
        effects: [
          { kind: 'refund', payload: { orders } },
          { kind: 'crm', payload: {} },
        ],
      });
      slowest = Math.max(slowest, performance.now() - started);
      orders += 1;
      await eventually(() => other.calls.size >= orders - 20, {
        withinMs: 5_000,
        what: 'other kinds flowing while the gateway hangs',
      });
    }
    expect(gateway.entries('accepted')).toEqual([]);
    await gateway.control({ mode: 'normal' });
    await eventually(async () => (await unfinished(b)) === 0, { withinMs: 60_000, everyMs: 100, what: 'the backlog' });
    expect(other.calls.size).toBe(orders);
    expect(slowest).toBeLessThan(5_000);
    expect(await judge(b, gateway)).toEqual({ lost: [], doubled: [] });
  }, 150_000);

  it('O06, O09: a lane with 100 000 followers behind a blocked head: 10 000 other effects complete meanwhile', async () => {
    const b = await bench();
    const refused = counting('refused', () => ({ outcome: 'failed', errorClass: 'http_400' }));
    const free = counting('noop', () => completed(), { concurrency: 500 });
    const relay = b.relay({ effects: [refused, free] });
    await b.effect('head', 'refused', { orderingKey: 'hot' });
    for (let i = 0; i < 10; i += 1) {
      await b.rows(
        `select * from comanda.decide(jsonb_build_object('key', 'followers-' || $1::int, 'effects', (select jsonb_agg(jsonb_build_object('kind', 'refused', 'name', 'f' || g, 'orderingKey', 'hot')) from generate_series(1, 10000) g)))`,
        [i],
      );
    }
    await manyEffects(b, 10_000, 'noop', 'beside-');
    await relay.start();
    await eventually(() => free.calls.size === 10_000, {
      withinMs: 90_000,
      everyMs: 50,
      what: '10 000 effects beside the blocked lane',
    });
    expect(refused.calls.size).toBe(1);
    const [lane] = await b.rows<{ what: string; lane: string; effect_id: string }>(
      `select what, lane, effect_id::text from comanda.attention where what = 'blocked lane'`,
    );
    expect(lane).toMatchObject({ what: 'blocked lane', lane: 'k:hot' });
    // A named person lets the lane go on: the next one, oldest first, is tried.
    await b.rows(`select * from comanda.request($1::text::jsonb)`, [
      JSON.stringify({ effect: lane?.effect_id, action: 'skip', by: 'ana', reason: 'refunded by hand' }),
    ]);
    await eventually(() => refused.calls.size === 2, { withinMs: 20_000, what: 'the next of the lane' });
    expect([...refused.calls.keys()][1]).toBe('followers-0/f1');
    expect(await b.unattended()).toBe(0);
  }, 200_000);
});
