import { type Direction, eventually, startTcpProxy, type TcpProxy } from '@comanda/test-support';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { inPgTransaction } from '../../src/adapters/pg/index.js';
import { completed, type Decided, decide, isRetryableDatabaseError } from '../../src/index.js';
import { type Bench, bench, counting } from '../relay/setup.js';
import { LONG } from './kit.js';

const decision = (key: string) => ({
  key,
  actor: { type: 'system', id: 'shop' } as const,
  effects: [
    { kind: 'pay', payload: { key } },
    { kind: 'pay', name: 'lane', payload: { key }, orderingKey: 'one' },
  ],
});

/** The caller's whole business: an order of its own table, and the decision about it, in one transaction. */
const placeOrder = (pool: pg.Pool, key: string): Promise<Decided> =>
  inPgTransaction(pool, async (tx, client) => {
    await client.query('insert into public.orders values ($1) on conflict do nothing', [key]);
    return await decide(tx, decision(key));
  });

interface Shop {
  readonly b: Bench;
  readonly proxy: TcpProxy;
  /** A pool of one connection through the proxy, connected. */
  warm(): Promise<pg.Pool>;
}

async function shop(): Promise<Shop> {
  const b = await bench(4);
  await b.rows('create table public.orders (key text primary key)');
  const proxy = await startTcpProxy({ port: Number(new URL(b.database.url).port) });
  const warm = async () => {
    const pool = b.database.pool(1, { connectionString: proxy.through(b.database.url), query_timeout: 10_000 });
    await pool.query('select 1');
    return pool;
  };
  return { b, proxy, warm };
}

/** Cut after so many bytes: some within everything, every single one around the first and the last statement. */
function offsets(total: number, edge: number, step: number): number[] {
  const all = Array.from({ length: total }, (_, index) => index + 1);
  return all.filter((n) => n <= edge || n > total - edge || n % step === 0);
}

describe('a caller’s connection dies', () => {
  it('at every place of its transaction, in both directions: it gets a retryable error, and the same key again gives exactly one decision', async () => {
    const { b, proxy, warm } = await shop();
    const before = { ...proxy.bytes };
    const measured = await warm();
    const connected = { ...proxy.bytes };
    await placeOrder(measured, 'measured');
    const points = (['toServer', 'toClient'] as const).flatMap((direction: Direction) =>
      offsets(proxy.bytes[direction] - connected[direction], LONG ? 60 : 14, LONG ? 5 : 120).map((offset) => ({
        direction,
        offset,
      })),
    );
    expect(connected.toServer).toBeGreaterThan(before.toServer);
    expect(points.length).toBeGreaterThan(50);
    const told = { failed: 0, committed: 0 };
    for (const { direction, offset } of points) {
      const key = `cut-${direction}-${offset}`;
      const pool = await warm();
      proxy.cutAfter(offset, direction);
      const first = await placeOrder(pool, key).catch((error: unknown) => error);
      await proxy.heal();
      if (first instanceof Error) {
        told.failed += 1;
        expect(isRetryableDatabaseError(first), `${key}: ${String(first)}`).toBe(true);
        // The pool replaces what died: the caller repeats its transaction as it is.
        const again = await placeOrder(pool, key);
        if (!again.created) told.committed += 1;
      }
      await pool.end();
    }
    // Some were told nothing although it was committed: otherwise no cut hit the answer to COMMIT.
    expect(told.failed).toBeGreaterThan(points.length / 2);
    expect(told.committed).toBeGreaterThan(0);
    const pay = counting('pay', () => completed(), { concurrency: 50 });
    await b.relay({ effects: [pay] }).start();
    const all = points.length + 1;
    await eventually(() => pay.calls.size === 2 * all, { withinMs: 30_000, what: 'every effect' });
    expect([...pay.calls.values()].every((n) => n === 1)).toBe(true);
    const [counts] = await b.rows(
      `select (select count(*)::int from public.orders) as orders, (select count(*)::int from comanda.run) as runs,
         (select count(*)::int from comanda.effect) as effects, (select count(*)::int from comanda.unattended) as unattended`,
    );
    expect(counts).toEqual({ orders: all, runs: all, effects: 2 * all, unattended: 0 });
  }, 120_000);

  it.each([
    ['the answer to COMMIT is lost', 'toClient', true],
    ['COMMIT itself is lost', 'toServer', false],
  ] as const)(
    'half-open, %s: an error after the fact, one decision after the repetition',
    async (_how, lost, committed) => {
      const { b, proxy, warm } = await shop();
      const pool = await warm();
      let begun: () => void = () => {};
      const atCommit = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const first = inPgTransaction(pool, async (tx, client) => {
        await client.query('insert into public.orders values ($1)', ['half']);
        const decided = await decide(tx, decision('half'));
        proxy.lose(lost);
        begun();
        return decided;
      }).catch((error: unknown) => error);
      await atCommit;
      if (committed)
        await eventually(async () => (await b.rows('select from public.orders')).length === 1, { what: 'the commit' });
      proxy.cut();
      await proxy.heal();
      const error = await first;
      expect(isRetryableDatabaseError(error)).toBe(true);
      await eventually(
        async () =>
          (
            await b.rows(
              `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
            )
          ).length === 0,
        { what: 'the server noticing' },
      );
      const again = await inPgTransaction(pool, async (tx, client) => {
        await client.query('insert into public.orders values ($1) on conflict do nothing', ['half']);
        return await decide(tx, decision('half'));
      });
      expect(again.created).toBe(!committed);
      expect(await b.rows('select count(*)::int as n from comanda.effect')).toEqual([{ n: 2 }]);
    },
  );

  it('a pool that is exhausted while transactions wait for their turn: no deadlock, each decision once', async () => {
    const b = await bench(4);
    await b.rows('create table public.orders (key text primary key)');
    const pool = b.database.pool(2, { connectionTimeoutMillis: 250 });
    // Both connections are held by transactions that stand still.
    const holders = await Promise.all([pool.connect(), pool.connect()]);
    for (const client of holders) await client.query('begin');
    const refused = await placeOrder(pool, 'refused').catch((error: unknown) => error);
    expect(isRetryableDatabaseError(refused), String(refused)).toBe(true);
    for (const client of holders) {
      await client.query('rollback');
      client.release();
    }
    const keys = Array.from({ length: 30 }, (_, n) => `crowd-${n % 15}`);
    const place = (key: string) =>
      eventually(() => placeOrder(pool, key), { withinMs: 30_000, what: `the order ${key}` });
    const decided = await Promise.all(keys.map(place));
    expect(decided.filter(({ created }) => created)).toHaveLength(15);
    expect(await b.rows('select count(*)::int as n from comanda.run')).toEqual([{ n: 15 }]);
  });
});
