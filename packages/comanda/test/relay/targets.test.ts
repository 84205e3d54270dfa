import { eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { completed, retry } from '../../src/index.js';
import { systemClock } from '../../src/kernel/clock.js';
import { httpEffect } from '../../src/transports/http/index.js';
import { provider } from '../integration/http/hostile-server.js';
import { type Bench, bench, counting, relayProcess } from './setup.js';

const QUICK = { openFor: 300, openAtMost: 600 };
const now = () => performance.now();

/** A provider that takes `ms` for each answer, remembers when requests came and went, and how many were there at once. */
async function gateway(ms: number, status: () => number, headers: Record<string, string> = {}) {
  const requests: { readonly from: number; to: number }[] = [];
  let here = 0;
  let most = 0;
  const server = await provider((response) => {
    const request = { from: now(), to: Number.POSITIVE_INFINITY };
    requests.push(request);
    here += 1;
    most = Math.max(most, here);
    systemClock.after(ms, () => {
      here -= 1;
      request.to = now();
      response.writeHead(status(), headers).end('{}');
    });
  });
  return { url: server.url, requests, arrivals: () => requests.map(({ from }) => from), most: () => most };
}

const http = (url: string, kind = 'refund', target = 'payments') =>
  httpEffect({
    kind,
    target,
    risk: 'irreversible',
    idempotency: 'key',
    allowPrivateAddresses: true,
    timeout: 2_000,
    retry: { maxAttempts: 50, baseDelay: 20, maxDelay: 100 },
    request: { url: `${url}/refunds` },
  });

const decide = async (b: Bench, n: number, kind = 'refund') => {
  await b.decide({
    key: `${kind}-${n}`,
    actor: { type: 'system', id: 'test' },
    effects: Array.from({ length: n }, (_, i) => ({ kind, name: `e${i}`, payload: { i } })),
  });
};
const done = async (b: Bench, kind = 'refund') =>
  Number(
    (
      await b.rows<{ n: string }>(
        `select count(*) n from comanda.outcome o join comanda.effect e on e.id = o.effect_id where o.state = 'completed' and e.kind = $1`,
        [kind],
      )
    )[0]?.n,
  );
const breakerOf = async (b: Bench, target = 'payments') =>
  (await b.rows<{ breaker: string }>('select breaker from comanda.target where target = $1', [target]))[0]?.breaker;
/** The most arrivals in any window of one second. */
const busiest = (arrivals: readonly number[]) =>
  Math.max(...arrivals.map((from) => arrivals.filter((at) => at >= from && at < from + 1_000).length));

const halves = (arrivals: readonly number[]) => {
  const counts = new Map<number, number>();
  for (const at of arrivals) {
    const half = Math.floor((at - (arrivals[0] ?? 0)) / 500);
    counts.set(half, (counts.get(half) ?? 0) + 1);
  }
  return Array.from({ length: Math.max(...counts.keys()) + 1 }, (_, half) => counts.get(half) ?? 0).join(' ');
};

describe('the breaker', () => {
  it('401: every relay stops within a second, one probe at a time asks, and after the repair all is done without a burnt attempt', async () => {
    const b = await bench();
    let status = 401;
    const payments = await gateway(30, () => status);
    const relays = [1, 2].map(() => b.relay({ effects: [http(payments.url)], breaker: QUICK, lease: 10_000 }));
    await Promise.all(relays.map((relay) => relay.start()));
    await decide(b, 40);
    await eventually(async () => (await breakerOf(b)) !== undefined, { what: 'the breaker' });
    const opened = now();
    await eventually(() => now() - opened > 1_000 && relays.every((relay) => relay.status().lanes === 0), {
      what: 'a second, and the end of what had left',
    });
    const before = payments.requests.length;
    await eventually(() => payments.requests.length >= before + 3, { what: 'three probes', withinMs: 20_000 });
    const probes = payments.requests.slice(before);
    const gaps = probes.slice(1).map(({ from }, i) => from - (probes[i]?.to ?? Number.POSITIVE_INFINITY));
    // One after the other, and longer each time, up to the maximum.
    expect(Math.min(...gaps)).toBeGreaterThan(500);
    expect(await b.rows(`select what, target from comanda.attention where what = 'breaker open'`)).toEqual([
      { what: 'breaker open', target: 'payments' },
    ]);
    status = 200;
    await eventually(async () => (await done(b)) === 40, { what: 'everything', withinMs: 20_000 });
    expect(await b.rows('select distinct attempts from comanda.outcome')).toEqual([{ attempts: 1 }]);
    expect(await breakerOf(b)).toBeUndefined();
    expect(await b.unattended()).toBe(0);
    expect(relays.flatMap(({ events }) => events.filter(({ type }) => type === 'warning'))).toEqual([]);
  });

  it('M09: a dead target gets a probe now and then, a healthy one is as fast as ever, and what waited is done after the repair', async () => {
    const b = await bench();
    let status = 500;
    const dead = await gateway(1, () => status);
    const healthy = await gateway(1, () => 200);
    const effects = [http(dead.url, 'refund', 'dead'), http(healthy.url, 'crm', 'healthy')];
    const breaker = { ...QUICK, failures: 5 };
    const relays = [1, 2].map(() => b.relay({ effects, breaker }));
    await Promise.all(relays.map((relay) => relay.start()));
    await decide(b, 100);
    await eventually(async () => (await breakerOf(b, 'dead')) === 'open', { what: 'the breaker' });
    const opened = now();
    await decide(b, 200, 'crm');
    await eventually(async () => (await done(b, 'crm')) === 200, { what: 'the healthy one', withinMs: 10_000 });
    await eventually(() => now() - opened > 4_000, { what: 'four seconds' });
    const calls = dead.arrivals().filter((at) => at > opened + 1_000);
    expect(calls.length, 'probes only').toBeLessThanOrEqual(Math.ceil((now() - opened) / 300) + 1);
    status = 200;
    await eventually(async () => (await done(b)) === 100, { what: 'everything', withinMs: 20_000 });
    expect(await b.unattended()).toBe(0);
  });

  it('opens after failures in a row only: a success between them begins to count again', async () => {
    const b = await bench();
    let n = 0;
    const pay = counting(
      'pay',
      () => {
        n += 1;
        return n % 4 === 0 ? completed() : retry({ errorClass: 'ECONNREFUSED', notSent: true });
      },
      { concurrency: 1, retry: { maxAttempts: 100, baseDelay: 1, maxDelay: 2 } },
    );
    await decide(b, 10, 'pay');
    const relay = b.relay({ effects: [pay], breaker: { ...QUICK, failures: 4 } });
    await relay.start();
    await eventually(async () => (await done(b, 'pay')) === 10, { what: 'everything' });
    expect(relay.events.filter(({ type }) => type === 'target')).toEqual([]);
  });

  it('a person closes it, and it does not wait for the next probe', async () => {
    const b = await bench();
    let status = 403;
    const payments = await gateway(1, () => status);
    const relay = b.relay({ effects: [http(payments.url)], breaker: { openFor: '30m' } });
    await relay.start();
    await decide(b, 3);
    await eventually(async () => (await breakerOf(b)) === 'open', { what: 'the breaker' });
    status = 200;
    await b.rows(
      `select * from comanda.target_set('{"target":"payments","close":true,"by":"ana","reason":"new key"}')`,
    );
    await eventually(async () => (await done(b)) === 3, { what: 'everything', withinMs: 15_000 });
  });
});

describe('a pause', () => {
  it('that one relay was asked for is obeyed by the other', async () => {
    const b = await bench();
    const answers = [429];
    const payments = await gateway(1, () => answers.pop() ?? 200, { 'retry-after': '3' });
    const kind = http(payments.url);
    const relays = [1, 2].map(() => b.relay({ effects: [kind] }));
    await Promise.all(relays.map((relay) => relay.start()));
    await decide(b, 1);
    await eventually(() => payments.requests.length === 1, { what: 'the first request', withinMs: 20_000 });
    const asked = now();
    await eventually(
      async () => (await b.rows('select from comanda.target where paused_until > clock_timestamp()')).length === 1,
      { what: 'the pause' },
    );
    await decide(b, 30);
    await eventually(async () => (await done(b)) === 31, { what: 'everything', withinMs: 20_000 });
    expect(Math.min(...payments.arrivals().slice(1)) - asked).toBeGreaterThan(2_900);
    expect(await b.rows('select distinct attempts from comanda.outcome')).toEqual([{ attempts: 1 }]);
  });

  it('of one process whose own part is broken is nobody else’s', async () => {
    const b = await bench();
    const broken = counting('pay', () =>
      retry({ notSent: true, burnsAttempt: false, pausesTarget: 'here', afterMs: 60_000, errorClass: 'closed' }),
    );
    await decide(b, 5, 'pay');
    await b.relay({ effects: [broken] }).start();
    await eventually(() => broken.order.length > 0, { what: 'the broken one' });
    await b.relay({ effects: [counting('pay')] }).start();
    await eventually(async () => (await done(b, 'pay')) + broken.calls.size >= 5, { what: 'the others' });
    expect(await b.rows('select from comanda.target')).toEqual([]);
  });
});

describe('limits', () => {
  it('concurrency 3 over two relays: never more at the provider, and all is done', async () => {
    const b = await bench();
    const payments = await gateway(40, () => 200);
    const targets = { payments: { concurrency: 3 } };
    const relays = [1, 2].map(() => b.relay({ effects: [http(payments.url)], targets }));
    await relays[0]?.start();
    await decide(b, 120);
    await eventually(() => payments.requests.length > 5, { what: 'the first ones' });
    await relays[1]?.start();
    await eventually(async () => (await done(b)) === 120, { what: 'everything', withinMs: 30_000 });
    expect(payments.most()).toBe(3);
    expect(payments.requests).toHaveLength(120);
  });

  it('a person limits a target of which no configuration says anything, and relays obey', async () => {
    const b = await bench();
    const payments = await gateway(20, () => 200);
    await b.rows(
      `select * from comanda.target_set('{"target":"payments","concurrency":1,"by":"ana","reason":"they asked"}')`,
    );
    await b.relay({ effects: [http(payments.url)] }).start();
    await decide(b, 20);
    await eventually(async () => (await done(b)) === 20, { what: 'everything' });
    expect(payments.most()).toBe(1);
  });

  it('stop() releases what waits for its turn at once, its attempt given back', async () => {
    const b = await bench();
    const pay = counting('pay');
    const relay = b.relay({ effects: [pay], targets: { pay: { ratePerSecond: 0.1 } } });
    await relay.start();
    await decide(b, 6, 'pay');
    await eventually(() => pay.order.length === 1 && relay.status().lanes > 0, { what: 'somebody who waits' });
    const asked = now();
    await relay.stop();
    expect(now() - asked).toBeLessThan(2_000);
    expect(await b.rows('select from comanda.lane where owner is not null or attempt > 0')).toEqual([]);
    expect(await b.rows(`select from comanda.target t, jsonb_array_elements(t.shares)`)).toEqual([]);
    expect(await b.unattended()).toBe(0);
  });

  const seconds = process.env['COMANDA_LONG'] === '1' ? 60 : 10;
  it('50 a second over four processes: no second has more than 50 and one share, and at least 90 % are used', {
    timeout: (seconds + 60) * 1_000,
  }, async () => {
    const b = await bench();
    const payments = await gateway(5, () => 200);
    const targets = { payments: { ratePerSecond: 50 } };
    const relays = [1, 2, 3, 4].map(() => relayProcess(b, { gateway: payments.url, targets }));
    for (const relay of relays) await relay.line(({ ready }) => ready === true, 30_000);
    const person = (act: object) =>
      b.rows('select * from comanda.target_set($1::text::jsonb)', [
        JSON.stringify({ target: 'payments', by: 'ana', reason: 'test', ...act }),
      ]);
    await person({ pauseMs: 600_000 });
    for (let i = 0; i < seconds + 5; i += 1) {
      const effects = Array.from({ length: 60 }, (_, e) => ({ kind: 'refund', name: `e${e}`, payload: {} }));
      await b.decide({ key: `batch-${i}`, effects });
    }
    const even = `select from comanda.target t, jsonb_array_elements(t.shares) s where (s->>'rate')::float8 between 12.4 and 12.6`;
    await eventually(async () => (await b.rows(even)).length === 4, { what: 'even shares', withinMs: 20_000 });
    await b.rows('create table public.commits (id bigserial)');
    await person({ resume: true });
    await eventually(() => payments.requests.length > 0, { what: 'the first request', withinMs: 20_000 });
    // All four have heard of the end of the pause.
    const from = (payments.requests[0]?.from ?? 0) + 2_000;
    // Claims and outcomes are durable: a disk that stalls lets nobody use anything.
    let late = 0;
    while (now() < from + seconds * 1_000) {
      const asked = now();
      await b.rows('insert into public.commits default values');
      await systemClock.sleep(20);
      late += now() < from ? 0 : Math.max(now() - asked - 120, 0);
    }
    const used = payments.arrivals().filter((at) => at >= from && at < from + seconds * 1_000);
    const figures = `${used.length} in ${seconds} s, at most ${busiest(payments.arrivals())} in one second; per half second: ${halves(used)}; the database was late for ${late} ms`;
    expect(busiest(payments.arrivals()), figures).toBeLessThanOrEqual(50 + 12.5);
    // What a busy machine does not let anybody use is not the limit's fault.
    expect(used.length, figures).toBeGreaterThanOrEqual(0.9 * 50 * Math.max(seconds - (2 * late) / 1_000, 1));
  });
});

it('a target that hangs does not slow another', async () => {
  const b = await bench();
  const hang = counting('hang', () => new Promise(() => undefined), { timeout: 60_000 });
  const pay = counting('pay');
  const relay = b.relay({ effects: [hang, pay], shutdownGrace: 100 });
  await relay.start();
  await decide(b, 50, 'hang');
  await eventually(() => hang.order.length === 16, { what: 'a full bulkhead' });
  const from = now();
  await decide(b, 200, 'pay');
  await eventually(async () => (await done(b, 'pay')) === 200, { what: 'the other target' });
  expect(now() - from).toBeLessThan(5_000);
});
