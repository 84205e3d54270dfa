import { eventually } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { claimed, first } from './kit/claimed-lane.js';
import type { Engine } from './kit/engine.js';
import {
  ask,
  type Claimed,
  claimOne,
  decide,
  ended,
  everythingIsDue,
  head,
  holes,
  LEASE_MS,
  lane,
  route,
  settle,
  state,
} from './kit/steps.js';

/** Everything that a settle could change. */
const everything = (s: Engine) =>
  s.rows(`select (select jsonb_agg(l order by lane) from comanda.lane l) as lanes, (select jsonb_agg(q order by pos) from comanda.effect_queue q) as queue,
    (select jsonb_agg(o order by effect_id, fence) from comanda.outcome o) as outcomes, (select count(*) from comanda.attempt) as attempts`);

describe('only the owner settles', () => {
  test('L02: under an older fence nothing changes, and the answer says so', async () => {
    const { s, c } = await claimed(1);
    await everythingIsDue(s);
    const successor = await claimOne(s, 'r2');
    expect(successor.fence).toBeGreaterThan(first(c).fence);
    const before = await everything(s);
    expect(await settle(s, first(c), 'next', { ended: [ended(first(c))] })).toBe('fenced');
    expect(await everything(s)).toEqual(before);
    expect(await settle(s, successor, 'next', { ended: [ended(successor)] })).toBe('ok');
  });

  test('an attempt that was given back does not bring its fence back', async () => {
    const { s, c } = await claimed(1);
    expect(await settle(s, first(c), 'retry', { giveBack: true })).toBe('ok');
    const again = await claimOne(s, 'r2');
    expect(again.attempt).toBe(1);
    expect(again.fence).toBeGreaterThan(first(c).fence);
    const before = await everything(s);
    for (const mode of ['keep', 'next', 'retry', 'unsure', 'unknown', 'block']) {
      expect(await settle(s, first(c), mode, { ended: mode === 'next' ? [ended(first(c))] : [] })).toBe('fenced');
    }
    expect(await everything(s)).toEqual(before);
  });

  test('an expired lease that nobody took over still settles: it is the truth', async () => {
    const { s, ids, c } = await claimed(1);
    await everythingIsDue(s);
    expect(await settle(s, first(c), 'next', { ended: [ended(first(c))] })).toBe('ok');
    expect(await state(s, ids[0])).toBe('completed');
  });

  test('R2: what a person did between two calls of the same settle is not undone', async () => {
    const { s, ids, c } = await claimed(2, 1);
    expect(
      await settle(s, first(c), 'block', { trouble: 'unknown', reason: 'unknown', head: head(first(c), 'unknown') }),
    ).toBe('ok');
    expect(await ask(s, ids[0], 'resolve', { as: 'completed' })).toBe('resolved as completed');
    expect(
      await settle(s, first(c), 'block', { trouble: 'unknown', reason: 'unknown', head: head(first(c), 'unknown') }),
    ).toBe('fenced');
    expect(await state(s, ids[1])).toBe('pending');
    const next = await claimOne(s);
    expect(next).toMatchObject({ effect_id: ids[1], suspect: false });
  });

  test.each(['next', 'retry', 'unsure', 'unknown', 'absent', 'block'])(
    '%s: a repeated call does nothing',
    async (mode) => {
      const { s, c } = await claimed(3);
      const more =
        mode === 'next'
          ? { ended: [ended(first(c))] }
          : { head: head(first(c), mode === 'absent' ? 'absent' : 'retry') };
      expect(await settle(s, first(c), mode, { delayMs: 5000, reason: 'why', ...more })).toBe('ok');
      const before = await everything(s);
      expect(await settle(s, first(c), mode, { delayMs: 5000, reason: 'why', ...more })).toBe('fenced');
      expect(await everything(s)).toEqual(before);
    },
  );

  test('keep is idempotent: the lease goes on and what ended is written once', async () => {
    const { s, c } = await claimed(3);
    const call = () => settle(s, first(c), 'keep', { ended: [ended(first(c))] });
    expect(await call()).toBe('ok');
    const once = { ...(await lane(s, 'k:a')), ready_at: undefined };
    expect(await call()).toBe('ok');
    expect({ ...(await lane(s, 'k:a')), ready_at: undefined }).toEqual(once);
    expect(await s.row('select count(*) as n from comanda.outcome')).toEqual({ n: 1 });
    expect(await s.row('select count(*) as n from comanda.attempt')).toEqual({ n: 1 });
    expect(once).toMatchObject({ owner: 'r1', attempt: 1, due: 'later' });
  });

  test('only the head prefix', async () => {
    const { s, c } = await claimed(3);
    const request = {
      leaseMs: LEASE_MS,
      lanes: [{ lane: 'k:a', fence: first(c).fence, mode: 'keep', ended: [ended(c[1])] }],
    };
    const before = await everything(s);
    expect(await s.sqlstate('select * from comanda.settle($1::text::jsonb)', [JSON.stringify(request)])).toBe('CM009');
    expect(await everything(s)).toEqual(before);
    expect(await settle(s, first(c), 'next', { ended: c.slice(0, 2).map((x) => ended(x)) })).toBe('ok');
    expect(await claimOne(s)).toMatchObject({ pos: c[2]?.pos });
  });

  test('a place that another effect has now is not ended by mistake', async () => {
    const { s, ids, c } = await claimed(2);
    expect(await settle(s, first(c), 'keep', { ended: [{ ...ended(first(c)), effect: ids[1] }] })).toBe('ok');
    expect(await s.row('select count(*) as n from comanda.outcome')).toEqual({ n: 0 });
    expect(await s.row('select count(*) as n from comanda.effect_queue')).toEqual({ n: 2 });
  });

  test('busy: a lane that another session has locked is not waited for', async () => {
    const { s, c } = await claimed(1);
    const other = await s.session();
    await other.rows('begin');
    await other.rows('select from comanda.lane for update');
    await s.rows(`set statement_timeout = '2s'`);
    expect(await settle(s, first(c), 'next', { ended: [ended(first(c))] })).toBe('busy');
    expect(await s.row('select count(*) as n from comanda.outcome')).toEqual({ n: 0 });
    await other.rows('rollback');
    expect(await settle(s, first(c), 'next', { ended: [ended(first(c))] })).toBe('ok');
  });

  test.each([
    ['no mode', { mode: undefined }],
    ['an unknown mode', { mode: 'finish' }],
    ['absent that does not name its head', { mode: 'absent' }],
  ])('%s is refused', async (_, change) => {
    const { s, c } = await claimed(1);
    const request = { leaseMs: LEASE_MS, lanes: [{ lane: 'k:a', fence: first(c).fence, ...change }] };
    expect(await s.sqlstate('select * from comanda.settle($1::text::jsonb)', [JSON.stringify(request)])).toBe('CM009');
  });

  test('what arrived while settle waited for its lane is seen: the lane stays', async () => {
    const { s, c } = await claimed(1);
    const [arrived] = await decide(s, 'later', [{ orderingKey: 'a' }]);
    const router = await s.session();
    await router.rows('begin');
    // Stands between whatever settle has read so far and the lock of the lane.
    await router.rows('lock table comanda.lane in exclusive mode');
    const settling = await s.session();
    const { pid } = await settling.row<{ pid: number }>('select pg_backend_pid() as pid');
    const settled = settle(settling, first(c), 'next', { ended: [ended(first(c))] });
    await eventually(
      async () =>
        (
          await s.rows(`select from pg_locks where pid = $1 and not granted and relation = 'comanda.lane'::regclass`, [
            pid,
          ])
        ).length > 0,
      { what: 'settle at the lock' },
    );
    await route(router, { kinds: [] });
    await router.rows('commit');
    expect(await settled).toBe('ok');
    expect(await holes(s)).toEqual([]);
    expect((await claimOne(s)).effect_id).toBe(arrived);
  });

  test('one lane twice in a call is refused: two modes cannot both hold', async () => {
    const { s, c } = await claimed(2);
    const of = (mode: string, x: Claimed | undefined) => ({ lane: 'k:a', fence: x?.fence, mode, ended: [ended(x)] });
    const request = { leaseMs: LEASE_MS, lanes: [of('keep', first(c)), of('next', c[1])] };
    expect(await s.sqlstate('select * from comanda.settle($1::text::jsonb)', [JSON.stringify(request)])).toBe('CM009');
  });

  test('R8: a lane twice in a call under two fences: only the present holder counts', async () => {
    const { s, ids, c } = await claimed(1);
    await everythingIsDue(s);
    const mine = await claimOne(s, 'r1');
    const lanes = [first(c), mine].map((x) => ({ lane: x.lane, fence: x.fence, mode: 'next', ended: [ended(x)] }));
    const answers = await s.call<{ fence: number; result: string }>('settle', {
      relay: 'r1',
      leaseMs: LEASE_MS,
      lanes,
    });
    expect(answers.map(({ result }) => result)).toEqual(['fenced', 'ok']);
    expect(await s.rows('select effect_id, fence from comanda.outcome')).toEqual([
      { effect_id: ids[0], fence: mine.fence },
    ]);
  });
});
