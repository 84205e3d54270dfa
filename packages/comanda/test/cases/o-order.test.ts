import { decide } from 'comanda';
import { pgTransaction } from 'comanda/adapters/pg';
import { describe, expect, test } from 'vitest';
import { bench, one, thrownBy } from './kit.js';

const LANE_ORDER = `select e.payload from comanda.effect_arrival a join comanda.effect e on e.id = a.effect_id where a.lane = $1 order by a.id`;

describe('O01: a lower number that commits later', () => {
  test('in one lane the place is taken at COMMIT: who commits first goes first, whoever decided first', async () => {
    const b = await bench();
    const [first, second] = [await b.db.connect(), await b.db.connect()];
    await first.query('begin');
    await decide(pgTransaction(first), one('t1', 't1', { orderingKey: 'o' }));
    await second.query('begin');
    await decide(pgTransaction(second), one('t2', 't2', { orderingKey: 'o' }));
    await second.query('commit');
    expect(await b.rows(LANE_ORDER, 'k:o')).toEqual([{ payload: '"t2"' }]);
    await first.query('commit');
    expect(await b.rows(LANE_ORDER, 'k:o')).toEqual([{ payload: '"t2"' }, { payload: '"t1"' }]);
  });

  test('without a lane it arrives in the middle of what was routed already, and is found', async () => {
    const b = await bench();
    const first = await b.db.connect();
    await first.query('begin');
    await decide(pgTransaction(first), one('t1', 't1'));
    await b.decide(one('t2', 't2'));
    const route = () =>
      b.rows(`select * from comanda.route('{"relay":"r","leaseMs":30000,"kinds":[{"kind":"refund","lanes":10}]}')`);
    await route();
    expect(await b.value('select count(*)::int from comanda.effect_queue')).toBe(1);
    await first.query('commit');
    await route();
    expect(await b.value('select count(*)::int from comanda.effect_queue')).toBe(2);
    expect(await b.counts()).toMatchObject({ arrivals: 0 });
  });

  test('the effects of one decision, and the decisions of one transaction, keep their order in the lane', async () => {
    const b = await bench();
    await b.transaction(async (tx) => {
      await decide(tx, {
        key: 'a',
        effects: [1, 2, 3].map((n) => ({ kind: 'x', name: `${n}`, payload: n, orderingKey: 'o' })),
      });
      await decide(tx, {
        key: 'b',
        effects: [4, 5].map((n) => ({ kind: 'x', name: `${n}`, payload: n, orderingKey: 'o' })),
      });
    });
    expect((await b.rows<{ payload: string }>(LANE_ORDER, 'k:o')).map((row) => row.payload)).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
  });

  test('SET CONSTRAINTS IMMEDIATE takes the place earlier, and is still ordered', async () => {
    const b = await bench();
    await b.transaction(async (tx, client) => {
      await decide(tx, one('a', 'a', { orderingKey: 'o' }));
      await client.query('set constraints all immediate');
      await decide(tx, one('b', 'b', { orderingKey: 'o' }));
    });
    expect(await b.rows(LANE_ORDER, 'k:o')).toEqual([{ payload: '"a"' }, { payload: '"b"' }]);
  });
});

describe('lanes of one transaction', () => {
  const lanes = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => ({ kind: 'x', name: `${from + n}`, orderingKey: `lane ${from + n}` }));

  test('1000 in one decision', async () => {
    const b = await bench();
    expect(await b.decide({ key: 'k', effects: lanes(0, 1000) })).toMatchObject({ created: true });
    expect(await b.counts()).toEqual({ runs: 1, effects: 1000, arrivals: 1000 });
  });

  test('1001 are refused, also spread over decisions; the transaction goes on with those it has', async () => {
    const b = await bench();
    const code = 'COMANDA_TOO_MANY_LANES';
    await b.transaction(async (tx) => {
      expect(await thrownBy(decide(tx, { key: 'all', effects: lanes(0, 1001) }))).toMatchObject({
        code,
        sqlstate: 'CM005',
      });
      await decide(tx, { key: 'a', effects: lanes(0, 600) });
      expect(await thrownBy(decide(tx, { key: 'b', effects: lanes(600, 1001) }))).toMatchObject({ code });
      await decide(tx, { key: 'b', effects: lanes(600, 1000) });
      await decide(tx, { key: 'c', effects: lanes(300, 900) });
      await decide(tx, {
        key: 'd',
        effects: [{ kind: 'unordered' }, { kind: 'later', orderingKey: 'one more', delayMs: 1000 }],
      });
      expect(await decide(tx, { key: 'a', effects: lanes(0, 600) })).toMatchObject({ created: false });
      expect(await thrownBy(decide(tx, one('e', 1, { orderingKey: 'one more' })))).toMatchObject({ code });
    });
    expect(await b.counts()).toEqual({ runs: 4, effects: 1602, arrivals: 1601 });
    expect(await b.decide(one('e', 1, { orderingKey: 'one more' }))).toMatchObject({ created: true });
  });

  test('mirrored transactions over many lanes do not deadlock', async () => {
    const b = await bench(8);
    const names = Array.from({ length: 12 }, (_, n) => `lane ${n}`);
    const orders = [names, [...names].reverse(), [...names.slice(6), ...names.slice(0, 6)]];
    const work = Array.from({ length: 8 }, async (_, worker) => {
      for (let round = 0; round < 15; round++) {
        await b.transaction(async (tx) => {
          for (const orderingKey of orders[(worker + round) % 3] ?? []) {
            await decide(tx, one(`${worker}:${round}:${orderingKey}`, 1, { orderingKey }));
          }
        });
      }
    });
    expect(await thrownBy(Promise.all(work))).toBeUndefined();
    expect(await b.counts()).toMatchObject({ arrivals: 8 * 15 * 12 });
  });

  test('a lane and an unordered effect of the same name do not meet', async () => {
    const b = await bench();
    await b.decide(one('a', 1));
    const id = await b.value<string>('select id from comanda.effect');
    await b.decide(one('b', 2, { orderingKey: id }));
    expect(await b.rows('select lane from comanda.effect_arrival order by id')).toEqual([
      { lane: `e:${id}` },
      { lane: `k:${id}` },
    ]);
  });
});
