import { eventually } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { engine } from './kit/engine.js';
import { arrivals, drain, lockLane, waitingForLocks } from './kit/order.js';
import { decide, holes, nothingWaits, route, sweep } from './kit/steps.js';

describe('order by construction', () => {
  test('O01, P6: commit order, whoever decided first', async () => {
    const s = await engine();
    const late = await s.session();
    await late.rows('begin');
    const [first] = await decide(late, 'late', [{ orderingKey: 'a' }]);
    const [second] = await decide(s, 'early', [{ orderingKey: 'a' }]);
    await late.rows('commit');
    expect(first).toBeLessThan(Number(second));
    expect(await arrivals(s)).toEqual([second, first]);
    expect(await drain(s)).toEqual([second, first]);
  });

  test('O01: unkeyed effects arrive at once and none is skipped', async () => {
    const s = await engine();
    const open = await s.session();
    await open.rows('begin');
    const [a] = await decide(open, 'open', [{}]);
    const [b] = await decide(s, 'b', [{}]);
    expect(await drain(s)).toEqual([b]);
    await open.rows('commit');
    expect(await drain(s)).toEqual([a]);
  });

  test('L16: nothing is handed out before the commit, and nothing at all after a rollback', async () => {
    const s = await engine();
    const open = await s.session();
    await open.rows('begin');
    await decide(open, 'open', [{ orderingKey: 'a' }, { name: 'b' }]);
    expect(await drain(s)).toEqual([]);
    await open.rows('rollback');
    expect(await drain(s)).toEqual([]);
    expect(
      await s.row(
        'select (select count(*) from comanda.run) as runs, (select count(*) from comanda.effect) as effects',
      ),
    ).toEqual({ runs: 0, effects: 0 });
  });

  test('effects of one decision keep the order in which they were given', async () => {
    const s = await engine();
    const ids = await decide(
      s,
      'k',
      ['c', 'a', 'b'].map((name) => ({ name, orderingKey: 'x' })),
    );
    expect(await drain(s)).toEqual(ids);
  });

  test('a savepoint that is rolled back leaves neither effects nor lanes', async () => {
    const s = await engine();
    const locked = await s.session();
    await locked.rows('begin');
    await lockLane(locked, 'gone');
    await s.rows(`set lock_timeout = '100ms'`);
    await s.rows('begin');
    await decide(s, 'before', [{ orderingKey: 'kept' }]);
    await s.rows('savepoint one');
    await decide(s, 'gone', [{ orderingKey: 'gone' }]);
    await s.rows('rollback to savepoint one');
    const [after] = await decide(s, 'after', [{ orderingKey: 'after' }]);
    await s.rows('commit'); // does not need the lock of a lane that it no longer touches
    expect(await s.rows('select key from comanda.run order by id')).toEqual([{ key: 'before' }, { key: 'after' }]);
    expect((await arrivals(s)).at(-1)).toBe(after);
    expect(await holes(s)).toEqual([]);
  });

  test('a refused decision inside a transaction leaves the others, and the transaction, alone', async () => {
    const s = await engine();
    await decide(s, 'taken', [{ payload: 1 }]);
    await s.rows('begin');
    await decide(s, 'a', [{ orderingKey: 'a' }]);
    const refused = await s.call<{ status: string }>('try_decide', {
      key: 'taken',
      effects: [{ kind: 'mail', payload: 2, orderingKey: 'b' }],
    });
    expect(refused).toEqual([expect.objectContaining({ status: 'conflict' })]);
    await s.rows('commit');
    expect(await s.row('select count(*) as n from comanda.effect_arrival')).toEqual({ n: 2 });
  });

  test('SET CONSTRAINTS IMMEDIATE: the place is drawn at once, in order all the same', async () => {
    const s = await engine();
    const other = await s.session();
    await s.rows('begin');
    await s.rows('set constraints all immediate');
    const [a] = await decide(s, 'a', [{ orderingKey: 'x' }]);
    expect(await arrivals(s)).toEqual([a]);
    await other.rows(`set lock_timeout = '50ms'`);
    expect(
      await other.sqlstate(`select * from comanda.decide('{"key":"b","effects":[{"kind":"mail","orderingKey":"x"}]}')`),
    ).toBe('55P03');
    const [c] = await decide(s, 'c', [{ orderingKey: 'x' }]);
    await s.rows('commit');
    const [b] = await decide(other, 'b', [{ orderingKey: 'x' }]);
    expect(await drain(s)).toEqual([a, c, b]);
  });

  test.each(['0', '3s'])(
    'SET CONSTRAINTS IMMEDIATE leaves the lock_timeout of %s to the rest of the transaction',
    async (timeout) => {
      const s = await engine();
      await s.rows(`set lock_timeout = '${timeout}'`);
      await s.rows('begin');
      await s.rows('set constraints all immediate');
      await decide(s, 'a', [{ orderingKey: 'x' }]);
      expect(await s.row('show lock_timeout')).toEqual({ lock_timeout: timeout });
      await s.rows('commit');
    },
  );

  test('where the trigger was switched off, unattended finds what has no place', async () => {
    const s = await engine();
    await s.rows('set session_replication_role = replica');
    await decide(s, 'k', [{ orderingKey: 'a' }]);
    expect(await holes(s)).toEqual(['effect is nowhere']);
  });
});

describe('lanes of one transaction', () => {
  test('R2: mirrored transactions both wait for the same lane first', async () => {
    const s = await engine();
    const [first] = await s.rows<{ key: string }>(
      `select k as key from unnest(array['x', 'y']) k order by hashtextextended(k, 'comanda.effect_arrival'::regclass::oid::bigint) limit 1`,
    );
    const holder = await s.session();
    await holder.rows('begin');
    await lockLane(holder, first?.key ?? '');
    const mirrored = [
      ['x', 'y'],
      ['y', 'x'],
    ].map(async (lanes, i) => {
      const one = await s.session();
      await one.rows('begin');
      for (const key of lanes) await decide(one, `${i}${key}`, [{ orderingKey: key }]);
      await one.rows('commit');
    });
    const waits = await eventually(async () => {
      const found = await waitingForLocks(s);
      return found.length === 2 && found;
    });
    expect(new Set(waits.map(({ objid }) => objid)).size).toBe(1);
    await holder.rows('commit');
    await Promise.all(mirrored);
    expect(await holes(s)).toEqual([]);
  });

  test('R2: mirrored transactions do not deadlock', async () => {
    const s = await engine();
    const sessions = [await s.session(), await s.session()];
    for (let round = 0; round < 25; round++) {
      const ready = sessions.map(async (one, i) => {
        await one.rows('begin');
        for (const key of i === 0 ? ['x', 'y', 'z'] : ['z', 'y', 'x'])
          await decide(one, `${round}${i}${key}`, [{ orderingKey: key }]);
        return one;
      });
      const both = await Promise.all(ready); // the barrier: both have decided, now both commit
      await Promise.all(both.map((one) => one.rows('commit')));
    }
    expect(await s.row('select count(*) as n from comanda.effect_arrival')).toEqual({ n: 150 });
  });

  test('R9: a lane that stays locked ends the commit after 5 s with 55P03, and nothing is written', async () => {
    const s = await engine();
    const holder = await s.session();
    await holder.rows('begin');
    await lockLane(holder, 'a');
    await s.rows('begin');
    await decide(s, 'k', [{ orderingKey: 'a' }, { name: 'other' }]);
    const started = performance.now();
    expect(await s.sqlstate('commit')).toBe('55P03');
    expect(performance.now() - started).toBeGreaterThan(4500);
    expect(
      await s.row(
        'select (select count(*) from comanda.run) + (select count(*) from comanda.effect) + (select count(*) from comanda.effect_arrival) as n',
      ),
    ).toEqual({ n: 0 });
  });

  test('R9: a lock_timeout of the caller is the one that counts', async () => {
    const s = await engine();
    const holder = await s.session();
    await holder.rows('begin');
    await lockLane(holder, 'a');
    await s.rows(`set lock_timeout = '50ms'`);
    await s.rows('begin');
    await decide(s, 'k', [{ orderingKey: 'a' }]);
    expect(await s.sqlstate('commit')).toBe('55P03');
  });

  test('1000 ordering keys in a transaction are the most; one more is refused and takes nothing with it', async () => {
    const s = await engine();
    await s.rows('begin');
    const effects = (from: number, n: number) =>
      Array.from({ length: n }, (_, i) => ({ kind: 'mail', name: `n${i}`, orderingKey: `lane ${from + i}` }));
    await s.call('decide', { key: '1', effects: effects(0, 900) });
    await s.call('decide', { key: '2', effects: effects(800, 200) });
    const refused = await s.call<{ status: string }>('try_decide', { key: '3', effects: effects(1000, 1) });
    expect(refused[0]?.status).toBe('too_many_lanes');
    expect(
      (await s.call<{ status: string }>('try_decide', { key: '4', effects: effects(500, 300) }))[0]?.status,
      'known lanes are free',
    ).toBe('decided');
    await s.rows('commit');
    expect(await s.rows('select key from comanda.run order by id')).toEqual([{ key: '1' }, { key: '2' }, { key: '4' }]);
    expect(
      await s.sqlstate('select * from comanda.decide($1::text::jsonb)', [
        JSON.stringify({ key: '5', effects: effects(0, 1001) }),
      ]),
    ).toBe('CM005');
  });
});

describe('keys of lanes', () => {
  test('R1: 512 bytes go all the way, with every prefix', async () => {
    const s = await engine();
    const keys = ['a'.repeat(512), '\u{1F4E6}'.repeat(128)];
    for (const orderingKey of keys) {
      await decide(s, orderingKey.slice(0, 4), [{ orderingKey }, { name: 'later', orderingKey, cancelWindowMs: 1000 }]);
    }
    await nothingWaits(s);
    expect(await sweep(s)).toMatchObject({ moved: 2 });
    expect(await drain(s)).toHaveLength(4);
    expect(await holes(s)).toEqual([]);
  });

  test.each([['a'.repeat(513)], [`${'\u{1F4E6}'.repeat(128)}a`], ['']])(
    'R1: %# is refused in decide, not at COMMIT',
    async (orderingKey) => {
      const s = await engine();
      const request = JSON.stringify({ key: 'k', effects: [{ kind: 'mail', orderingKey }] });
      expect(await s.sqlstate('select * from comanda.decide($1::text::jsonb)', [request])).toBe('CM002');
    },
  );

  test('an ordering key never meets the lane of an effect without one', async () => {
    const s = await engine();
    const [id] = await decide(s, 'unkeyed', [{}]);
    const [keyed] = await decide(s, 'keyed', [{ orderingKey: String(id) }]);
    const [prefixed] = await decide(s, 'prefixed', [{ orderingKey: `e:${id}` }]);
    await route(s);
    expect(await s.rows('select lane from comanda.lane order by lane')).toEqual([
      { lane: `e:${id}` },
      { lane: `k:${id}` },
      { lane: `k:e:${id}` },
    ]);
    expect((await drain(s)).sort()).toEqual([id, keyed, prefixed].sort());
  });
});
