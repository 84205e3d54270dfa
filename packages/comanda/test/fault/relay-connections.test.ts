import { type Direction, eventually, startTcpProxy, type TcpProxy } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { systemRandom } from '../../src/kernel/ids.js';
import { type Bench, bench, counting } from '../relay/setup.js';
import { decisionOf, type Judges, judges, LONG, settled, verdict, worker } from './kit.js';
import { startProducer } from './producer.js';

interface Place {
  readonly b: Bench;
  readonly proxy: TcpProxy;
  readonly books: Judges;
  readonly url: string;
}

/** An installation whose relay goes through a proxy, and whose callers and judges do not. */
async function place(): Promise<Place> {
  const b = await bench();
  const proxy = await startTcpProxy({ port: Number(new URL(b.database.url).port) });
  return { b, proxy, books: await judges(), url: proxy.through(b.database.url) };
}

const CONFIG = { leaseMs: 1_200, timeoutMs: 700, statementTimeoutMs: 1_000 };

const rest = (b: Bench) => eventually(() => settled(b.rows), { withinMs: 60_000, everyMs: 50, what: 'the rest' });

describe('a relay’s connections', () => {
  it('are reset in the middle of whatever passes, again and again: it goes on, nothing lost or doubled', async () => {
    const { b, proxy, books, url } = await place();
    const relays = [1, 2].map(() => worker(url, books, CONFIG));
    // A relay that cannot even start says so and ends: that is its supervisor's business.
    for (const relay of relays) await relay.line((line) => 'ready' in line, 20_000);
    const producer = startProducer(b.pool, 'cut-', 4);
    const cuts: string[] = [];
    while (cuts.length < (LONG ? 400 : 16)) {
      const before = proxy.cutOff;
      const direction: Direction = systemRandom() < 0.5 ? 'toServer' : 'toClient';
      // Mostly in the middle of one of the next messages; the answers are longer than the questions.
      const bytes = 1 + Math.floor(systemRandom() ** 2 * 12_000);
      cuts.push(`${direction} after ${bytes}`);
      proxy.cutAfter(bytes, direction);
      await eventually(() => proxy.cutOff > before, { withinMs: 30_000, everyMs: 5, what: `${cuts.at(-1)}` });
    }
    await proxy.heal();
    await producer.stop();
    await rest(b);
    expect(await verdict(b.rows, books), cuts.join(', ')).toEqual([]);
    expect(producer.errors).toEqual([]);
  }, 180_000);

  it.each([
    ['swallow everything', (proxy: TcpProxy) => proxy.stall()],
    ['lose what the relay says', (proxy: TcpProxy) => proxy.lose('toServer')],
    ['lose what the database answers', (proxy: TcpProxy) => proxy.lose('toClient')],
    [
      'are refused',
      async (proxy: TcpProxy) => {
        await proxy.refuse();
        proxy.cut();
      },
    ],
  ] as const)(
    '%s until the leases have ended: it goes on by itself within 20 s, nothing lost or doubled',
    async (_what, fault) => {
      const { b, proxy, books, url } = await place();
      const relay = worker(url, books, CONFIG);
      await relay.line((line) => 'ready' in line, 20_000);
      for (const provider of [books.gateway, books.mail])
        await provider.control({ script: ['acceptSlow', 'acceptSlow'], slowMs: 500 });
      for (let n = 0; n < 5; n += 1) await b.decide(decisionOf(`under-way-${n}`));
      await eventually(() => books.gateway.entries('accepted').length > 0, { what: 'the first effects' });
      await fault(proxy);
      await eventually(
        async () =>
          (await b.rows('select from comanda.lane where owner is not null and ready_at > clock_timestamp()')).length ===
          0,
        { withinMs: 30_000, what: 'every lease having ended' },
      );
      await b.decide(decisionOf('meanwhile'));
      await proxy.heal();
      await b.decide(decisionOf('afterwards'));
      await eventually(() => books.mail.entries('accepted').some(({ body }) => body.includes('afterwards')), {
        withinMs: 20_000,
        what: 'new work after the fault',
      });
      await rest(b);
      expect(await verdict(b.rows, books)).toEqual([]);
      expect((await relay.kill('SIGTERM')).code).toBe(0);
    },
    120_000,
  );

  it('stay silent in a pool that bounds only its connecting: they are given up, and it goes on', async () => {
    const { b, proxy, url } = await place();
    // A connection that falls silent while it is being opened belongs to the pool alone: nothing outside can give it up.
    const pool = b.database.pool(4, { connectionString: url, connectionTimeoutMillis: 3_000 });
    const pay = counting('pay');
    await b.relay({ effects: [pay], database: pgStandalone(pool), lease: 1_000 }).start();
    await b.effect('before', 'pay');
    await eventually(() => pay.calls.size === 1, { what: 'the first effect' });
    proxy.lose('toClient');
    await eventually(() => pool.idleCount === 0 && pool.waitingCount > 0, { what: 'every connection waiting' });
    await proxy.heal();
    await b.effect('after', 'pay');
    await eventually(() => pay.calls.size === 2, { withinMs: 20_000, what: 'new work' });
    expect([...pay.calls.values()]).toEqual([1, 1]);
  }, 60_000);

  it.each([1, 2])(
    'a pool of %s: slower, and nothing else',
    async (size) => {
      const b = await bench();
      const books = await judges();
      const relays = [1, 2].map(() => worker(b.database.pooledUrl, books, { ...CONFIG, leaseMs: 3_000, pool: size }));
      const slowMs = 400;
      for (const provider of [books.gateway, books.mail])
        await provider.control({ rates: { acceptSlow: 0.2, acceptDrop: 0.05 }, slowMs, seed: size });
      for (let n = 0; n < 40; n += 1) await b.decide(decisionOf(`small-${n}`));
      await rest(b);
      expect(await verdict(b.rows, books)).toEqual([]);
      for (const relay of relays) expect((await relay.kill('SIGTERM')).code).toBe(0);
    },
    120_000,
  );
});
