import { describe, expect, test } from 'vitest';
import { engine } from './kit/engine.js';
import { arrivals, drain } from './kit/order.js';
import {
  claim,
  decide,
  decideInOrder,
  ended,
  holes,
  lane,
  nothingWaits,
  route,
  settle,
  state,
  states,
  sweep,
} from './kit/steps.js';

describe('route', () => {
  test('one router at a time, and rows that the first has moved are not moved again', async () => {
    const s = await engine();
    const ids = await decideInOrder(s, 'a', 3);
    const first = await s.session();
    await first.rows('begin');
    expect(await route(first, { relay: 'r1', kinds: ['mail'] })).toEqual([
      expect.objectContaining({ effect_id: ids[0] }),
    ]);
    const second = await s.session();
    await second.rows(`set statement_timeout = '2s'`);
    expect(await second.call('route', { relay: 'r2', leaseMs: 1000, kinds: [{ kind: 'mail', lanes: 5 }] })).toEqual([]);
    await first.rows('commit');
    expect(await second.call('route', { relay: 'r2', leaseMs: 1000, kinds: [{ kind: 'mail', lanes: 5 }] })).toEqual([]);
    expect(await s.row('select count(*) as n from comanda.effect_queue')).toEqual({ n: 3 });
    expect(await holes(s)).toEqual([]);
  });

  test('many routers at once move each arrival once', async () => {
    const s = await engine();
    const sessions = [await s.session(), await s.session(), await s.session()];
    for (let round = 0; round < 15; round++) {
      await decide(s, `k${round}`, [{ orderingKey: `lane ${round % 3}` }, { name: 'b' }]);
      await Promise.all(sessions.map((one, i) => route(one, { relay: `r${i}` })));
    }
    await route(s);
    expect(await s.row('select count(*) as n, count(distinct effect_id) as of from comanda.effect_queue')).toEqual({
      n: 30,
      of: 30,
    });
    expect(await holes(s)).toEqual([]);
  });

  test('more arrivals of busy lanes than one look takes: those behind them are found', async () => {
    const s = await engine();
    await decide(s, 'first', [{ orderingKey: 'busy' }]);
    await route(s);
    await s.rows(
      `select comanda.decide(jsonb_build_object('key', 'b' || i, 'effects', '[{"kind":"mail","orderingKey":"busy"}]'::jsonb)) from generate_series(1, 300) i`,
    );
    const [free] = await decide(s, 'free', [{ orderingKey: 'free' }]);
    const other = await s.session();
    await other.rows('begin');
    await other.rows(`select from comanda.lane where lane = 'k:busy' for update`);
    const routed = await s.call<{ effect_id: number }>('route', {
      relay: 'r1',
      leaseMs: 30_000,
      kinds: [{ kind: 'mail', lanes: 10 }],
      batch: 100,
    });
    expect(routed.map((row) => row.effect_id)).toEqual([free]);
    await other.rows('rollback');
    expect(await holes(s)).toEqual([]);
  });

  test('all rows of a busy lane stay, the others are routed', async () => {
    const s = await engine();
    const [a1] = await decideInOrder(s, 'a', 1);
    await route(s);
    const [b] = await decide(s, 'b', [{ orderingKey: 'b' }]);
    const [a2] = await decide(s, 'a2', [{ orderingKey: 'a' }]);
    const [c] = await decide(s, 'c', [{ orderingKey: 'c' }]);
    const [a3] = await decide(s, 'a3', [{ orderingKey: 'a' }]);
    const other = await s.session();
    await other.rows('begin');
    await other.rows(`select from comanda.lane where lane = 'k:a' for update`);
    await s.rows(`set statement_timeout = '2s'`);
    await route(s);
    expect(await arrivals(s)).toEqual([a2, a3]);
    expect(await states(s, [b ?? 0, c ?? 0])).toEqual(['pending', 'pending']);
    expect(await holes(s)).toEqual([]);
    await other.rows('rollback');
    await route(s);
    expect(await s.rows(`select effect_id from comanda.effect_queue where lane = 'k:a' order by pos`)).toEqual(
      [a1, a2, a3].map((effect_id) => ({ effect_id })),
    );
  });

  test('leases at most the lanes asked for, only of allowed kinds; the rest is due', async () => {
    const s = await engine();
    for (let i = 0; i < 5; i++) await decide(s, `k${i}`, [{}, { name: 'crm', kind: 'crm' }]);
    const leased = await route(s, { kinds: ['mail'], lanes: 3 });
    expect(leased.map(({ kind, attempt, suspect }) => [kind, attempt, suspect])).toEqual(
      Array.from({ length: 3 }, () => ['mail', 1, false]),
    );
    expect(
      await s.row(
        'select count(*) as lanes, count(owner) as leased, count(*) filter (where ready_at <= now()) as due from comanda.lane',
      ),
    ).toEqual({ lanes: 10, leased: 3, due: 7 });
  });

  test('a leased lane gets followers without losing its lease', async () => {
    const s = await engine();
    await decide(s, '1', [{ orderingKey: 'a' }]);
    const [c] = await route(s, { kinds: ['mail'] });
    await decide(s, '2', [{ orderingKey: 'a' }]);
    expect(await route(s, { kinds: ['mail'] })).toEqual([]);
    expect(await lane(s, 'k:a')).toMatchObject({ owner: 'r1', fence: c?.fence, inflight_to: c?.pos });
    expect(await settle(s, c, 'next', { ended: [ended(c)] })).toBe('ok');
    expect(await claim(s)).toHaveLength(1);
  });

  test('a request to cancel comes with the lease', async () => {
    const s = await engine();
    await decide(s, 'k', [{}]);
    await s.call('cancel', { key: 'k' });
    expect(await route(s, { kinds: ['mail'] })).toEqual([expect.objectContaining({ cancel: true })]);
  });
});

describe('a waiting effect that is due', () => {
  test('takes its place when it is released, behind what came meanwhile', async () => {
    const s = await engine();
    const [delayed] = await decide(s, 'delayed', [{ orderingKey: 'a', delayMs: 3_600_000 }]);
    const [next] = await decide(s, 'next', [{ orderingKey: 'a' }]);
    expect(await sweep(s)).toMatchObject({ moved: 0 });
    expect(await state(s, delayed)).toBe('waiting');
    await nothingWaits(s);
    expect(await sweep(s)).toMatchObject({ moved: 1 });
    expect(await drain(s)).toEqual([next, delayed]);
  });

  test('R3: draws no place while the lane is locked, and does not wait for it', async () => {
    const s = await engine();
    await decide(s, 'a', [
      { orderingKey: 'a', delayMs: 1000 },
      { name: 'free', orderingKey: 'b', delayMs: 1000 },
      { name: 'unkeyed', delayMs: 1000 },
    ]);
    await nothingWaits(s);
    const open = await s.session();
    await open.rows('begin');
    await open.rows('set constraints all immediate');
    await decide(open, 'b', [{ orderingKey: 'a' }]);
    await s.rows(`set statement_timeout = '2s'`);
    expect(await sweep(s)).toMatchObject({ moved: 2 });
    await open.rows('commit');
    expect(await sweep(s)).toMatchObject({ moved: 1 });
    expect(await holes(s)).toEqual([]);
  });

  test('is passed by while its row is locked', async () => {
    const s = await engine();
    const [one, two] = await decide(s, 'k', [
      { name: 'a', delayMs: 1 },
      { name: 'b', delayMs: 1 },
    ]);
    await nothingWaits(s);
    const open = await s.session();
    await open.rows('begin');
    expect(await open.call('cancel', { key: 'k', name: 'a' })).toEqual([
      { effect_id: one, name: 'a', answer: 'cancelled' },
    ]);
    expect(await sweep(s)).toMatchObject({ moved: 1 });
    await open.rows('rollback');
    expect(await sweep(s)).toMatchObject({ moved: 1 });
    expect((await arrivals(s)).sort()).toEqual([one, two]);
  });

  test('of a reason that is not known here is left alone', async () => {
    const s = await engine();
    const [id] = await decide(s, 'k', [{ delayMs: 1 }]);
    await s.rows('alter table comanda.waiting drop constraint waiting_reason_check');
    await s.rows(`update comanda.waiting set reason = 'quota', next_at = now() - interval '1 day'`);
    expect(await sweep(s)).toMatchObject({ moved: 0 });
    expect(await state(s, id)).toBe('waiting');
  });

  test('one sweep at a time', async () => {
    const s = await engine();
    const first = await s.session();
    await first.rows('begin');
    expect(await sweep(first)).toMatchObject({ ran: true });
    expect(await sweep(s)).toEqual({ moved: 0, unparked: 0, answered: 0, ran: false, failed: null });
  });
});
