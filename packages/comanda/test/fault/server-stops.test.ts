import { eventually, withDeadline } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { isRetryableDatabaseError } from '../../src/index.js';
import { decisionOf, judges, LONG, settled, verdict, worker } from './kit.js';
import { ownServer } from './own-server.js';
import { startProducer } from './producer.js';

describe('PostgreSQL is stopped', () => {
  it.each(['fast', 'immediate'] as const)(
    '%s, under load, and started again: callers repeat their keys, relays go on by themselves, nothing lost or doubled',
    async (how) => {
      const server = await ownServer();
      const books = await judges();
      const relays = [1, 2].map(() => worker(server.url, books, { leaseMs: 1_500, timeoutMs: 700 }));
      const producer = startProducer(server.pool({ max: 6 }), 'order-');
      const accepted = async () => (await books.gateway.stats()).accepted;
      for (let stop = 1; stop <= (LONG ? 8 : 2); stop += 1) {
        const goal = (await accepted()) + 40;
        await eventually(async () => (await accepted()) >= goal, {
          withinMs: 60_000,
          what: `work before stop ${stop}`,
        });
        const before = producer.errors.length;
        await server.stop(how);
        await eventually(() => producer.errors.length > before, { what: 'callers that get an error' });
        await server.start();
      }
      const goal = (await accepted()) + 40;
      await eventually(async () => (await accepted()) >= goal, { withinMs: 30_000, what: 'relays at work again' });
      await producer.stop();
      await eventually(() => settled(server.ask), { withinMs: 60_000, everyMs: 100, what: 'the rest' });
      expect(await verdict(server.ask, books)).toEqual([]);
      expect(producer.errors.filter((error) => !isRetryableDatabaseError(error))).toEqual([]);
      const [{ n } = { n: 0 }] = await server.ask<{ n: number }>('select count(*)::int as n from comanda.run');
      expect(n).toBe(producer.confirmed);
      for (const relay of relays) expect((await relay.kill('SIGTERM')).code).toBe(0);
    },
    180_000,
  );

  it.each([
    ['idle', 0],
    ['with an effect in a long handler', 6_000],
  ] as const)(
    'C12: by polling, %s: the server is down within 15 s, relays reconnect by themselves, one accepted operation',
    async (_how, handlerMs) => {
      const server = await ownServer();
      const books = await judges();
      // The lease is a tenth of the default, and so is the handler's minute.
      const relay = worker(server.url, books, { leaseMs: 3_000, timeoutMs: 20_000 });
      await relay.line((line) => 'ready' in line, 20_000);
      if (handlerMs > 0) {
        await books.gateway.control({ script: ['acceptSlow'], slowMs: handlerMs });
        await server.ask('select comanda.decide($1::text::jsonb)', [JSON.stringify(decisionOf('long', ['keyed']))]);
        await eventually(() => books.gateway.entries('accepted').length === 1, { what: 'the long handler' });
      }
      await withDeadline(server.stop('fast'), 15_000, 'stopping the server');
      await server.start();
      await server.ask('select comanda.decide($1::text::jsonb)', [JSON.stringify(decisionOf('next', ['keyed']))]);
      await eventually(() => settled(server.ask), { withinMs: 30_000, what: 'the relay at work again' });
      expect(await verdict(server.ask, books)).toEqual([]);
      expect(relay.lines.filter((line) => 'ready' in (line as object))).toHaveLength(1);
    },
    90_000,
  );
});
