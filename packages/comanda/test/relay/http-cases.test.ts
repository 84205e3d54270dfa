import { execFileSync } from 'node:child_process';
import { afterThisTest, eventually, startGateway } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.js';
import type { RelayOptions } from '../../src/relay/index.js';
import { type HttpEffectDefinition, httpEffect, httpTransport } from '../../src/transports/http/index.js';
import { type Provider, provider } from '../integration/http/hostile-server.js';
import { type Bench, bench, relayProcess } from './setup.js';

const state = async (b: Bench, key: string) => (await b.states())[key];
const ended = (b: Bench, key: string, wanted: string, withinMs = 20_000) =>
  eventually(async () => (await state(b, key)) === wanted, { what: `${key} ${wanted}`, withinMs });

/** A relay in this process whose kinds send to these places. */
async function start(
  b: Bench,
  first: Partial<HttpEffectDefinition>,
  second?: Partial<HttpEffectDefinition>,
  options: Partial<RelayOptions> = {},
) {
  const transport = httpTransport({ allowPrivateAddresses: true });
  afterThisTest(() => transport.close());
  const effects = (second === undefined ? [first] : [first, second]).map((more) =>
    httpEffect({
      kind: 'refund',
      risk: 'irreversible',
      idempotency: 'key',
      timeout: 1_000,
      retry: { maxAttempts: 5, baseDelay: 20, maxDelay: 100 },
      request: { url: 'http://127.0.0.1/' },
      transport,
      ...more,
    }),
  );
  const relay = b.relay({ ...options, effects });
  await relay.start();
  return relay;
}

/** A provider that notes when each request came. */
async function timed(answer: Parameters<typeof provider>[0]): Promise<Provider & { gaps(): number[] }> {
  const at: number[] = [];
  const target = await provider((response, request, index) => {
    at.push(systemClock.monotonicMs());
    answer(response, request, index);
  });
  return { ...target, gaps: () => at.slice(1).map((moment, i) => moment - (at[i] ?? 0)) };
}

const attempts = (b: Bench) =>
  b.rows<{ outcome: string; error_class: string | null }>(
    `select outcome, error_class from comanda.attempt where phase <> 'start' order by at`,
  );

describe('what providers do, through a relay', () => {
  it('H01: a timeout, a 500, a reset and a killed relay, then it works: five requests, one key, accepted once', async () => {
    const b = await bench();
    const gateway = await startGateway({ control: { script: ['hang', 'error500', 'dropBefore', 'hang'] } });
    const config = { gateway: gateway.url, leaseMs: 2_000, timeoutMs: 1_500, maxAttempts: 8 };
    const relay = relayProcess(b, config);
    await b.effect('H01', 'refund');
    await eventually(() => gateway.entries('received').length === 4, { what: 'the fourth request', everyMs: 5 });
    await relay.kill('SIGKILL');
    relayProcess(b, config);
    await ended(b, 'H01/refund', 'completed');
    const received = gateway.entries('received');
    expect(received.map(({ key }) => key)).toEqual(Array(5).fill('H01/refund'));
    expect(gateway.entries('accepted')).toHaveLength(1);
    expect(gateway.entries('rejected').map(({ reason }) => reason)).toEqual(['hang', 'error500', 'dropBefore', 'hang']);
    // Later requests carry higher fences: a target that compares them could refuse the killed one.
    const fences = received.map(({ fence }) => Number(fence));
    expect(fences).toEqual([...fences].sort((x, y) => x - y));
    expect(fences.at(-1)).toBeGreaterThan(fences.at(-2) ?? 0);
  });

  it('H03: two refunds of one amount for one customer in one decision are two operations', async () => {
    const b = await bench();
    const gateway = await startGateway();
    await start(b, { request: { url: `${gateway.url}/refunds` } });
    const payload = { customer: 'c-7', amount: '20.00' };
    const effects = ['first', 'second'].map((name) => ({ kind: 'refund', name, payload }));
    await b.decide({ key: 'H03', actor: { type: 'system', id: 'test' }, effects });
    await ended(b, 'H03/second', 'completed');
    await ended(b, 'H03/first', 'completed');
    expect(gateway.entries('accepted').map(({ key, body }) => [key, body])).toEqual(
      expect.arrayContaining(['H03/first', 'H03/second'].map((key) => [key, '{"amount": "20.00", "customer": "c-7"}'])),
    );
    expect(gateway.entries('accepted')).toHaveLength(2);
  });

  it('H04: 409 while the first request works is waited for, however often, and costs no attempt', async () => {
    const b = await bench();
    const gateway = await startGateway({ control: { script: ['slow'], slowMs: 2_500 } });
    const retry = { maxAttempts: 2, baseDelay: 200, maxDelay: 200 };
    await start(b, { request: { url: `${gateway.url}/refunds` }, timeout: 500, retry, providerId: '/id' });
    await b.effect('H04', 'refund');
    await ended(b, 'H04/refund', 'completed');
    const inProgress = gateway.entries('in_progress');
    expect(inProgress.length).toBeGreaterThan(2);
    expect([gateway.entries('accepted').length, gateway.entries('replayed').length]).toEqual([1, 1]);
    expect(new Set(gateway.entries('received').map(({ key }) => key))).toEqual(new Set(['H04/refund']));
    const times = [...inProgress, ...gateway.entries('replayed')].map(({ t }) => t);
    // Milliseconds of two clocks are compared.
    for (const [i, t] of times.slice(1).entries()) expect(t - (times[i] ?? 0)).toBeGreaterThanOrEqual(195);
  });

  it('H04: a 409 that never ends is waited for until the key could be forgotten; then it is unknown, and looked up', async () => {
    const b = await bench();
    const target = await timed((response, { method }) =>
      response.writeHead(method === 'GET' ? 200 : 409).end('{"id":"re_1"}'),
    );
    const relay = await start(
      b,
      {
        request: { url: target.url },
        idempotency: { mode: 'key', lifetime: '4s', margin: '2s' },
        reconcile: { request: { url: target.url } },
        providerId: '/id',
        timeout: 300,
        retry: { maxAttempts: 1, baseDelay: 100, maxDelay: 100 },
      },
      undefined,
      { lease: 500 },
    );
    await b.effect('H04', 'refund');
    await ended(b, 'H04/refund', 'completed');
    const posts = target.seen.filter(({ method }) => method === 'POST');
    expect(posts.length).toBeGreaterThan(2);
    expect(new Set(posts.map(({ headers }) => headers['idempotency-key']))).toEqual(new Set(['H04/refund']));
    // The last one left within lifetime - margin of the first claim; the look-up is all that came later.
    expect(
      target
        .gaps()
        .slice(0, posts.length - 1)
        .reduce((a, gap) => a + gap, 0),
    ).toBeLessThan(2_500);
    expect(target.seen.slice(posts.length).map(({ method }) => method)).toEqual(['GET']);
    expect(await b.rows('select provider_id from comanda.outcome')).toEqual([{ provider_id: 're_1' }]);
    expect(relay.events.filter((event) => event.type === 'warning')).toEqual([]);
  });

  it('H08: Retry-After in seconds and as a date: gaps no shorter than asked for, and no attempt is lost', async () => {
    const b = await bench();
    const target = await timed((response, _, index) => {
      if (index === 1) response.writeHead(429, { 'retry-after': '2' }).end();
      else if (index === 2) {
        response.writeHead(429, { 'retry-after': new Date(systemClock.wallMs() + 3_000).toUTCString() }).end();
      } else response.end('{}');
    });
    await start(b, { request: { url: target.url }, retry: { maxAttempts: 1, baseDelay: 20, maxDelay: 20 } });
    await b.effect('H08', 'refund');
    await ended(b, 'H08/refund', 'completed');
    const [first = 0, second = 0, ...more] = target.gaps();
    expect(more).toEqual([]);
    expect(first).toBeGreaterThanOrEqual(1_990);
    // A date has no milliseconds: up to one second is lost before it is sent.
    expect(second).toBeGreaterThanOrEqual(1_990);
  });

  it('H10: a redirect to a login page that answers 200 is a dead letter; nobody goes there', async () => {
    const b = await bench();
    const target = await provider((response, { url }) => {
      if (url === '/login') response.end('<html>log in</html>');
      else response.writeHead(302, { location: '/login' }).end();
    });
    await start(b, { request: { url: `${target.url}/refunds` } });
    await b.effect('H10', 'refund');
    await ended(b, 'H10/refund', 'failed');
    expect(target.seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /refunds']);
    expect(await b.rows(`select reason from comanda.outcome`)).toEqual([
      { reason: 'http_302: redirect refused (HTTP 302)' },
    ]);
  });

  it('H14: a silent provider ends at its timeout; the second attempt at another one is not held up', async () => {
    const b = await bench();
    const silent = await provider(() => {});
    const other = await timed((response, _, index) => response.writeHead(index === 1 ? 500 : 200).end('{}'));
    const slow = { maxAttempts: 2, baseDelay: 20, maxDelay: 20 };
    const relay = await start(
      b,
      { kind: 'a', request: { url: silent.url }, timeout: 700, retry: slow },
      { kind: 'b', request: { url: other.url } },
    );
    for (const n of [1, 2, 3, 4]) await b.effect(`silent-${n}`, 'a');
    await eventually(() => silent.seen.length > 0, { what: 'a request to the silent provider' });
    await b.effect('quick', 'b');
    await ended(b, 'quick/b', 'completed');
    expect(other.gaps()).toHaveLength(1);
    await ended(b, 'silent-1/a', 'unknown');
    const times = relay.events.flatMap((event) => (event.type === 'attempt' && event.kind === 'a' ? [event.ms] : []));
    for (const ms of times) expect(ms).toBeLessThan(2_000);
    // Nothing but the four waits for a person.
    expect(await b.unattended()).toBe(0);
  });

  it('H15: a provider that replays its first 500 for ever: no more requests than attempts, one key, then a person', async () => {
    const b = await bench();
    const first = new Map<string, number>();
    const accepted: string[] = [];
    const target = await provider((response, { method, url, headers }) => {
      if (method === 'GET') {
        const known = accepted.includes(decodeURIComponent(url.split('key=')[1] ?? ''));
        return void response.writeHead(known ? 200 : 404).end(known ? '{}' : '{"error":"no such operation"}');
      }
      const key = String(headers['idempotency-key']);
      const status = first.get(key) ?? (first.size === 0 ? 500 : 200);
      if (!first.has(key) && status === 200) accepted.push(key);
      first.set(key, status);
      response.writeHead(status).end('{"id":"re_1"}');
    });
    const refund: Partial<HttpEffectDefinition> = {
      request: { url: `${target.url}/refunds` },
      reconcile: { request: ({ sentKey }) => ({ url: `${target.url}/refunds?key=${encodeURIComponent(sentKey)}` }) },
      timeout: 300,
    };
    await start(b, refund);
    await b.effect('H15', 'refund');
    await ended(b, 'H15/refund', 'failed');
    const posts = target.seen
      .filter(({ method }) => method === 'POST')
      .map(({ headers }) => headers['idempotency-key']);
    expect(posts).toEqual(Array(5).fill('H15/refund'));
    // The look-up and what it said are on record, and a person is told.
    const looked = await b.rows(`select outcome, status, response from comanda.attempt where phase = 'look'`);
    expect(looked).toEqual([{ outcome: 'absent', status: 404, response: '{"error":"no such operation"}' }]);
    const [attention] = await b.rows<{ what: string; reason: string }>('select what, reason from comanda.attention');
    expect(attention).toMatchObject({
      what: 'dead letter',
      reason: expect.stringContaining('the look-up says that it was not applied'),
    });
    expect(accepted).toEqual([]);
    // Nothing happens under another key until somebody decides it.
    await b.effect('H15-again', 'refund');
    await ended(b, 'H15-again/refund', 'completed');
    expect(accepted).toEqual(['H15-again/refund']);
  });

  it('H16: 200 MB, five megabytes of HTML, a body that drips and headers without a body: a relay process grows by less than 50 MB', async () => {
    const b = await bench();
    const block = Buffer.alloc(256 * 1024, 'x');
    const sent = new Map<string, number>();
    const target = await provider((response, { body }) => {
      const { key } = JSON.parse(body) as { key: string };
      const name = key.split('-')[0] ?? '';
      sent.set(key, (sent.get(key) ?? 0) + 1);
      if (name === 'html') {
        if (sent.get(key) === 1) return void response.writeHead(500).end(`<html>${'é'.repeat(2_500_000)}</html>`);
        return void response.end('{}');
      }
      response.writeHead(200);
      response.flushHeaders();
      if (name === 'silent') return;
      if (name === 'drip') {
        const timer = setInterval(() => response.write('.'), 50);
        return void response.on('close', () => clearInterval(timer));
      }
      let left = 200 * 1024 * 1024;
      const more = (): void => {
        while (left > 0 && !response.destroyed) {
          left -= block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
        if (!response.destroyed) response.end();
      };
      more();
    });
    const relay = relayProcess(b, { gateway: target.url, leaseMs: 8_000, timeoutMs: 3_000 });
    await relay.line((line) => line['ready'] === true);
    await b.effect('html-0', 'refund');
    await ended(b, 'html-0/refund', 'completed');
    const before = residentMb(relay.pid);
    let most = before;
    const keys = ['huge', 'html', 'drip', 'silent'].flatMap((name) => [1, 2, 3, 4, 5].map((n) => `${name}-${n}`));
    for (const key of keys) await b.effect(key, 'refund');
    await eventually(
      async () => {
        most = Math.max(most, residentMb(relay.pid));
        const states = await b.states();
        return keys.every((key) => states[`${key}/refund`] === 'completed');
      },
      { what: 'the end of all', withinMs: 30_000 },
    );
    expect(most - before, `MB over ${before}`).toBeLessThan(50);
    expect([...sent].filter(([key, n]) => n !== (key.startsWith('html') ? 2 : 1))).toEqual([]);
    const [kept] = await b.rows<{ response: string; error: string }>(
      `select max(octet_length(response)) as response, coalesce(max(octet_length(error_text)), 0) as error from comanda.attempt`,
    );
    expect(Number(kept?.response)).toBeLessThanOrEqual(64 * 1024);
    expect(Number(kept?.error)).toBeLessThanOrEqual(4 * 1024);
    expect((await attempts(b)).filter(({ outcome }) => outcome === 'unknown')).toEqual([]);
  });
});

function residentMb(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;
}
