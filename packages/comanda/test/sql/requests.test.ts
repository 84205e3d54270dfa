import { describe, expect, test } from 'vitest';
import { type Engine, engine } from './kit/engine.js';
import {
  ask,
  type Claimed,
  claim,
  claimOne,
  decide,
  decideInOrder,
  ended,
  everythingIsDue,
  head,
  holes,
  maySend,
  route,
  settle,
  state,
  states,
  sweep,
} from './kit/steps.js';

/** A keyed lane of three effects whose head has been settled so. */
async function laneWithHead(
  mode: string,
  more: (c: Claimed) => Record<string, unknown>,
): Promise<{ s: Engine; ids: number[]; c: Claimed }> {
  const s = await engine();
  const ids = await decideInOrder(s, 'a', 3);
  await route(s);
  const c = await claimOne(s);
  expect(await maySend(s, c, { mark: true })).toBe('go');
  expect(await settle(s, c, mode, more(c))).toBe('ok');
  return { s, ids, c };
}

const dead = () =>
  laneWithHead('block', (c) => ({
    trouble: 'failed',
    headFailed: true,
    reason: 'failed: 422',
    head: head(c, 'failed'),
  }));
const unknown = () => laneWithHead('block', (c) => ({ trouble: 'unknown', reason: 'ask', head: head(c, 'unknown') }));

describe('a dead letter', () => {
  test('O09: skip lets the lane go on, oldest first', async () => {
    const { s, ids } = await dead();
    expect(await ask(s, ids[0], 'skip')).toBe('skipped');
    expect(await states(s, ids)).toEqual(['failed', 'pending', 'pending']);
    const taken = await claim(s, { batch: 10 });
    expect(taken.map((c) => c.effect_id)).toEqual(ids.slice(1));
    expect(taken[0]).toMatchObject({ attempt: 1, suspect: false, lost: 0 });
    expect(await s.rows('select * from comanda.attention')).toEqual([]);
  });

  test('O09: redrive tries the head again, before what is behind it, under a higher fence', async () => {
    const { s, ids, c } = await dead();
    expect(await ask(s, ids[0], 'redrive')).toBe('redriven');
    expect(await state(s, ids[0])).toBe('pending');
    expect(await s.row('select ended_as, ended_at from comanda.effect_state where effect_id = $1', [ids[0]])).toEqual({
      ended_as: null,
      ended_at: null,
    });
    const again = await claimOne(s);
    expect(again).toMatchObject({ effect_id: ids[0], attempt: 1 });
    expect(again.fence).toBeGreaterThan(c.fence);
    await settle(s, again, 'next', { ended: [ended(again)] });
    expect(await state(s, ids[0])).toBe('completed');
    expect(await s.row(`select count(*) as n from comanda.outcome where effect_id = $1`, [ids[0]])).toEqual({ n: 2 });
  });

  test('an unkeyed one is redriven as a new arrival, once, however often it is asked for', async () => {
    const s = await engine();
    const [id] = await decide(s, 'k', [{}]);
    await route(s);
    const c = await claimOne(s);
    await settle(s, c, 'next', { ended: [ended(c, 'failed', { reason: 'gone' })] });
    expect(await s.rows('select what, effect_id from comanda.attention')).toContainEqual({
      what: 'dead letter',
      effect_id: id,
    });
    expect(await ask(s, id, 'redrive')).toBe('redriven');
    expect(await ask(s, id, 'redrive')).toBe('on its way already');
    await route(s);
    expect(await ask(s, id, 'redrive')).toBe('on its way already');
    expect(await s.row('select count(*) as n from comanda.effect_queue')).toEqual({ n: 1 });
    expect(await s.rows('select what from comanda.attention')).toEqual([]);
    expect(await claimOne(s)).toMatchObject({ effect_id: id, attempt: 1 });
  });

  test('a skipped one comes back at the end of its lane, once, and never while the lane is locked', async () => {
    const { s, ids } = await dead();
    await ask(s, ids[0], 'skip');
    const open = await s.session();
    await open.rows('begin');
    await open.rows('set constraints all immediate');
    await decide(open, 'open', [{ orderingKey: 'a' }]);
    expect(await ask(s, ids[0], 'redrive')).toBe('open');
    await open.rows('commit');
    await sweep(s);
    await route(s);
    expect(await ask(s, ids[0], 'redrive')).toBe('on its way already');
    const order = await s.rows<{ effect_id: number }>('select effect_id from comanda.effect_queue order by pos');
    expect(order.map((x) => x.effect_id)).toEqual([ids[1], ids[2], expect.any(Number), ids[0]]);
    expect(await holes(s)).toEqual([]);
  });

  test('what is no dead letter is not redriven', async () => {
    const s = await engine();
    const [a, b] = await decide(s, 'k', [{ name: 'a' }, { name: 'b', delayMs: 1000 }]);
    expect(await ask(s, a, 'redrive')).toBe('not a dead letter: it has not ended');
    await s.call('cancel', { key: 'k', name: 'b' });
    expect(await ask(s, b, 'redrive')).toBe('not a dead letter: cancelled');
  });
});

describe('an unknown outcome', () => {
  test.each(['completed', 'failed'])('resolved as %s by a named person: the lane goes on', async (as) => {
    const { s, ids } = await unknown();
    expect(await ask(s, ids[0], 'resolve', { as, providerId: 're_1', by: 'grace', reason: 'seen at the bank' })).toBe(
      `resolved as ${as}`,
    );
    expect(await s.row('select state, settled_by, reason, provider_id from comanda.outcome')).toEqual({
      state: as,
      settled_by: 'grace',
      reason: 'seen at the bank',
      provider_id: 're_1',
    });
    expect(await states(s, ids)).toEqual([as, 'pending', 'pending']);
    expect(await claimOne(s)).toMatchObject({ effect_id: ids[1], suspect: false, attempt: 1 });
    expect(await s.row('select actor, act from comanda.audit')).toEqual({ actor: 'grace', act: 'request:resolve' });
  });

  test('resolved as pending: the head is clean, as after a believed absent', async () => {
    const { s, ids, c } = await unknown();
    expect(await ask(s, ids[0], 'resolve', { as: 'pending' })).toBe('resolved as pending');
    expect(await state(s, ids[0])).toBe('pending');
    const again = await claimOne(s);
    expect(again).toMatchObject({ effect_id: ids[0], suspect: false, trouble: null, attempt: 1 });
    expect(again.fence).toBeGreaterThan(c.fence);
    const [told] = await s.call<{ started_fence: unknown }>('payloads', { effects: [ids[0]], suspects: [ids[0]] });
    expect(told?.started_fence, 'the start row is resolved').toBeNull();
  });

  test('cannot be skipped: that would call it cancelled although it may have happened', async () => {
    const { s, ids } = await unknown();
    expect(await ask(s, ids[0], 'skip')).toBe('refused: its outcome is unknown; resolve it first');
    expect(await state(s, ids[0])).toBe('unknown');
  });

  test('nor can a head whose lease ran out, or whose last attempt is uncertain', async () => {
    const s = await engine();
    const ids = await decideInOrder(s, 'a', 1);
    await route(s);
    await claimOne(s);
    await everythingIsDue(s);
    expect(await ask(s, ids[0], 'skip')).toBe('open');
    const c = await claimOne(s, 'r2');
    await settle(s, c, 'unsure', { delayMs: 60_000 });
    await sweep(s);
    expect(await s.row('select answer from comanda.effect_request')).toEqual({
      answer: 'refused: its outcome is unknown; resolve it first',
    });
  });

  test('what is not unknown is not resolved', async () => {
    const { s, ids } = await dead();
    expect(await ask(s, ids[0], 'resolve', { as: 'completed' })).toBe('not unknown: it has ended failed');
    expect(await ask(s, ids[1], 'resolve', { as: 'completed' })).toBe('not unknown');
  });
});

describe('skip', () => {
  test('of a head that nobody has sent cancels it', async () => {
    const s = await engine();
    const ids = await decideInOrder(s, 'a', 2);
    await route(s);
    expect(await ask(s, ids[0], 'skip')).toBe('skipped');
    expect(await states(s, ids)).toEqual(['cancelled', 'pending']);
  });

  test('of what does not stand in the way says so', async () => {
    const s = await engine();
    const [waits] = await decide(s, 'k', [{ delayMs: 60_000 }]);
    expect(await ask(s, waits, 'skip')).toBe('not blocking: it waits; cancel it');
    await s.call('cancel', { key: 'k' });
    expect(await ask(s, waits, 'skip')).toBe('not blocking: it has ended');
  });
});

describe('a request', () => {
  test.each([
    [{ action: 'skip', reason: 'r', effect: 1 }, 'CM013'],
    [{ action: 'skip', by: 'ada', effect: 1 }, 'CM013'],
    [{ action: 'skip', by: 'ada', reason: '', effect: 1 }, 'CM013'],
    [{ action: 'delete', by: 'ada', reason: 'r', effect: 1 }, 'CM009'],
    [{ action: 'resolve', by: 'ada', reason: 'r', effect: 1 }, 'CM009'],
    [{ action: 'resolve', by: 'ada', reason: 'r', effect: 1, as: 'cancelled' }, 'CM009'],
    [{ action: 'skip', by: 'ada', reason: 'r', effect: 1, as: 'completed' }, 'CM009'],
    [{ action: 'skip', by: 'ada', reason: 'r', effect: 'x' }, 'CM009'],
    [{ action: 'skip', by: 'ada', reason: 'r' }, 'CM009'],
    [{ action: 'resolve', by: 'ada', reason: 'r', effect: 1, as: 'completed', providerId: 'x'.repeat(1025) }, 'CM009'],
    [{ action: 'skip', by: 'ada', reason: 'r', effect: 4711 }, 'CM007'],
  ])('%o is refused', async (request, code) => {
    const s = await engine();
    await decide(s, 'k', [{}]);
    expect(await s.sqlstate('select * from comanda.request($1::text::jsonb)', [JSON.stringify(request)])).toBe(code);
    expect(await s.row('select count(*) as n from comanda.effect_request')).toEqual({ n: 0 });
  });

  test('made twice is one request, and the second person is told', async () => {
    const s = await engine();
    const [id] = await decide(s, 'k', [{}]);
    const answers: unknown[] = [];
    for (const by of ['ada', 'grace'])
      answers.push(
        (await s.call<{ answer: string }>('request', { effect: id, action: 'skip', by, reason: 'r' }))[0]?.answer,
      );
    expect(answers).toEqual(['requested', 'already requested by ada']);
    expect(await s.row('select count(*) as n from comanda.effect_request')).toEqual({ n: 1 });
    expect(await s.row('select count(*) as n from comanda.audit')).toEqual({ n: 2 });
  });

  test('is not applied while the lane is leased or locked, and is afterwards', async () => {
    const { s, ids } = await dead();
    const other = await s.session();
    await other.rows('begin');
    await other.rows('select from comanda.lane for update');
    await s.rows(`set statement_timeout = '2s'`);
    expect(await ask(s, ids[0], 'skip')).toBe('open');
    await other.rows('rollback');
    expect(await sweep(s)).toMatchObject({ answered: 1 });
  });

  test('that cannot be applied is answered so, and the sweep goes on', async () => {
    const { s, ids } = await dead();
    await s.rows(`alter table comanda.outcome add constraint broken check (state <> 'cancelled') not valid`);
    await decideInOrder(s, 'b', 1);
    await route(s);
    const [b] = await s.rows<{ id: number }>(`select e.id from comanda.effect e where ordering_key = 'b'`);
    expect(await ask(s, b?.id, 'skip')).toMatch(/^could not be applied: .*broken/);
    expect(await ask(s, ids[0], 'skip')).toBe('skipped');
  });

  test('settle does not wait for a request that a sweep holds', async () => {
    const s = await engine();
    await decide(s, 'k', [{}]);
    await route(s);
    const c = await claimOne(s);
    await s.call('cancel', { key: 'k' });
    const sweeping = await s.session();
    await sweeping.rows('begin');
    await sweeping.rows('select from comanda.effect_request for update');
    await s.rows(`set statement_timeout = '2s'`);
    expect(await settle(s, c, 'next', { ended: [ended(c)] })).toBe('ok');
    await sweeping.rows('rollback');
    expect(await sweep(s)).toMatchObject({ answered: 1 });
    expect(await s.row('select answer from comanda.effect_request')).toEqual({ answer: 'too late' });
  });

  test('thousands of cancellations that must wait do not keep a person waiting', async () => {
    const { s, ids } = await dead();
    await decide(
      s,
      'many',
      Array.from({ length: 600 }, (_, i) => ({ name: `n${i}`, orderingKey: 'b' })),
    );
    await route(s);
    await claim(s);
    await s.call('cancel', { key: 'many' });
    expect(await ask(s, ids[0], 'skip')).toBe('skipped');
    await s.rows(`update comanda.effect_request set requested_at = now() - interval '1 hour'`);
    expect(await s.row(`select answered from comanda.sweep('{"relay":"r1","batch":10}')`)).toEqual({ answered: 0 });
  });
});
