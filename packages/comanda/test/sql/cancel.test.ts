import { describe, expect, test } from 'vitest';
import { type Engine, engine } from './kit/engine.js';
import {
  type Claimed,
  claim,
  claimOne,
  decide,
  decideInOrder,
  ended,
  everythingIsDue,
  head,
  holes,
  lane,
  nothingWaits,
  route,
  settle,
  state,
  states,
  sweep,
  turn,
} from './kit/steps.js';

describe('cancel', () => {
  test('is exact while an effect waits, and final', async () => {
    const s = await engine();
    const [delayed, window, now] = await decide(s, 'k', [
      { name: 'a', delayMs: 60_000 },
      { name: 'b', cancelWindowMs: 60_000 },
      { name: 'c' },
    ]);
    expect(await s.call('cancel', { key: 'k', by: 'ada', reason: 'mistake' })).toEqual([
      { effect_id: delayed, name: 'a', answer: 'cancelled' },
      { effect_id: window, name: 'b', answer: 'cancelled' },
      { effect_id: now, name: 'c', answer: 'requested' },
    ]);
    expect(await states(s, [delayed ?? 0, window ?? 0, now ?? 0])).toEqual(['cancelled', 'cancelled', 'pending']);
    expect(await s.call('cancel', { key: 'k', name: 'a' })).toEqual([
      { effect_id: delayed, name: 'a', answer: 'cancelled' },
    ]);
    expect(await s.rows(`select settled_by, reason from comanda.outcome where effect_id = $1`, [delayed])).toEqual([
      { settled_by: 'ada', reason: 'mistake' },
    ]);
    expect(await holes(s)).toEqual([]);
  });

  test('races with the mover: each effect is either cancelled or moved, never both, never neither', async () => {
    const s = await engine();
    const mover = await s.session();
    for (let round = 0; round < 15; round++) {
      await decide(s, `k${round}`, [{ delayMs: 1 }]);
      await nothingWaits(s);
      await Promise.all([s.call('cancel', { key: `k${round}` }), sweep(mover)]);
    }
    const counts = await s.row<{
      cancelled: number;
      moved: number;
      both: number;
    }>(`select count(o.effect_id) as cancelled, count(a.effect_id) as moved,
      count(*) filter (where o.effect_id is not null and a.effect_id is not null) as both
      from comanda.effect e left join comanda.outcome o on o.effect_id = e.id left join comanda.effect_arrival a on a.effect_id = e.id`);
    expect(counts.cancelled + counts.moved).toBe(15);
    expect(counts.both).toBe(0);
    expect(await holes(s)).toEqual([]);
  });

  test('of something that does not exist is CM007', async () => {
    const s = await engine();
    await decide(s, 'k', [{}]);
    expect(await s.sqlstate(`select * from comanda.cancel('{"key":"other"}')`)).toBe('CM007');
    expect(await s.sqlstate(`select * from comanda.cancel('{"key":"k","name":"other"}')`)).toBe('CM007');
  });

  test('R6: a request that came after the settle looked is answered by the sweep', async () => {
    const s = await engine();
    const [id] = await decide(s, 'k', [{}]);
    await route(s);
    const c = await claimOne(s);
    const late = await s.session();
    await late.rows('begin');
    expect(await late.call('cancel', { key: 'k' })).toEqual([{ effect_id: id, name: 'mail', answer: 'requested' }]);
    expect(await settle(s, c, 'next', { ended: [ended(c)] })).toBe('ok');
    await late.rows('commit');
    expect(await sweep(s)).toMatchObject({ answered: 1 });
    expect(await s.row('select answer from comanda.effect_request')).toEqual({ answer: 'too late' });
    expect(await s.call('cancel', { key: 'k' })).toEqual([{ effect_id: id, name: 'mail', answer: 'too late' }]);
  });

  test('cancels of heads that may have been sent do not keep a sweep from the others', async () => {
    const s = await engine();
    for (const key of ['a', 'b', 'c', 'd']) await decide(s, key, [{}]);
    await route(s);
    const claims = await claim(s, { lanes: 10 });
    for (const c of claims.slice(0, 3)) await settle(s, c, 'unsure', { delayMs: 60_000, head: head(c, 'retry') });
    await settle(s, claims[3], 'retry', { delayMs: 60_000, head: head(claims[3], 'retry') });
    for (const key of ['a', 'b', 'c', 'd']) await s.call('cancel', { key });
    await s.call('sweep', { relay: 'r1', batch: 2 });
    expect(
      await states(
        s,
        claims.map((c) => c.effect_id),
      ),
    ).toEqual(['pending', 'pending', 'pending', 'cancelled']);
  });

  test('R6: unattended names a request that stays without an answer while relays live', async () => {
    const s = await engine();
    const [id] = await decide(s, 'k', [{}]);
    await route(s);
    const c = await claimOne(s);
    await settle(s, c, 'next', { ended: [ended(c)] });
    await s.rows(
      `insert into comanda.effect_request (effect_id, action, requested_at) values ($1, 'cancel', now() - interval '2 minutes')`,
      [id],
    );
    await s.call('relay_beat', { relay: 'r1', kinds: [] });
    expect(await holes(s)).toEqual(['request that nobody will answer']);
    await sweep(s);
    expect(await holes(s)).toEqual([]);
  });

  test.each([
    [
      'parked by a switch',
      async (s: Engine, c: Claimed) => settle(s, c, 'block', { reason: 'switch:all', giveBack: true }),
    ],
    [
      'in back-off after a certain failure',
      async (s: Engine, c: Claimed) => settle(s, c, 'retry', { delayMs: 60_000 }),
    ],
  ])('of a head %s: cancelled by the sweep, and what is behind it is due', async (_, rest) => {
    const s = await engine();
    const ids = await decideInOrder(s, 'a', 2);
    await route(s);
    const c = await claimOne(s);
    await turn(s, 'all', 'stop');
    await rest(s, c);
    await s.call('cancel', { key: 'a-1' });
    await sweep(s);
    expect(await s.row('select answer from comanda.effect_request')).toEqual({ answer: 'cancelled' });
    expect(await states(s, ids)).toEqual(['cancelled', 'pending']);
    expect(await lane(s, 'k:a')).toMatchObject({ due: 'now', parked_by: null, first_at: null });
    expect((await lane(s, 'k:a'))?.fence).toBeGreaterThan(c.fence);
    expect(await settle(s, c, 'next', { ended: [ended(c)] })).toBe('fenced');
    expect(await holes(s)).toEqual([]);
  });

  test.each([
    ['uncertain', async (s: Engine, c: Claimed) => settle(s, c, 'unsure', { delayMs: 60_000 })],
    ['unknown', async (s: Engine, c: Claimed) => settle(s, c, 'unknown', { delayMs: 60_000 })],
    ['held by a relay that died', async (s: Engine) => everythingIsDue(s)],
    ['leased', async () => undefined],
  ])('of a head that is %s waits for its owner', async (_, rest) => {
    const s = await engine();
    const ids = await decideInOrder(s, 'a', 1);
    await route(s);
    await rest(s, await claimOne(s));
    await s.call('cancel', { key: 'a-1' });
    expect(await sweep(s)).toMatchObject({ answered: 0 });
    expect(await s.row('select answer from comanda.effect_request')).toEqual({ answer: null });
    expect(['sending', 'pending', 'unknown']).toContain(await state(s, ids[0]));
  });
});
