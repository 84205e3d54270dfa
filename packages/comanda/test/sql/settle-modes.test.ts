import { describe, expect, test } from 'vitest';
import { claimed, first } from './kit/claimed-lane.js';
import { type Engine, engine } from './kit/engine.js';
import {
  type Claimed,
  claim,
  claimOne,
  decide,
  ended,
  everythingIsDue,
  head,
  holes,
  LEASE_MS,
  lane,
  maySend,
  route,
  settle,
  state,
  states,
  turn,
} from './kit/steps.js';

/** What a late answer says about a claimed effect: it happened. */
const happened = (c: Claimed) => ({
  fence: c.fence,
  effect: c.effect_id,
  attempt: 1,
  outcome: 'completed',
  providerId: 're_1',
});

describe('what each mode leaves behind', () => {
  test('keep: the rest of the claim stays with its owner under the same fence', async () => {
    const { s, c } = await claimed(3);
    expect(await settle(s, first(c), 'keep', { ended: [ended(first(c))] })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({
      due: 'later',
      owner: 'r1',
      fence: first(c).fence,
      attempt: 1,
      inflight_to: c[2]?.pos,
      suspect_to: null,
      first_at: expect.any(Date),
    });
    expect(await maySend(s, c[1])).toBe('go');
  });

  test('keep without an end changes nothing that was counted', async () => {
    const { s, c } = await claimed(1);
    await settle(s, first(c), 'retry', { delayMs: 0 });
    const second = await claimOne(s);
    expect(second.attempt).toBe(2);
    expect(await settle(s, second, 'keep')).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({ attempt: 2, owner: 'r1' });
  });

  test('next: the new head is due, uncounted, and its key is as young as its first claim', async () => {
    const { s, ids, c } = await claimed(2, 1);
    expect(await settle(s, first(c), 'next', { ended: [ended(first(c))] })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({
      due: 'now',
      owner: null,
      attempt: 0,
      inflight_to: null,
      suspect_to: null,
      first_at: null,
      lost: 0,
    });
    expect(await claimOne(s)).toMatchObject({ effect_id: ids[1], attempt: 1, suspect: false });
  });

  test('next without an end gives the lane up without a word about its head: it is suspect and still counted', async () => {
    const { s, c } = await claimed(2);
    expect(await settle(s, first(c), 'next')).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({
      due: 'now',
      owner: null,
      attempt: 1,
      suspect_to: c[1]?.pos,
      first_at: expect.any(Date),
    });
    const again = await claim(s);
    expect(again).toEqual([expect.objectContaining({ suspect: true, attempt: 2 })]);
  });

  test('retry: certainly not applied, so no suspect; the attempt counts', async () => {
    const { s, c } = await claimed(1);
    expect(
      await settle(s, first(c), 'retry', {
        delayMs: 60_000,
        head: head(first(c), 'retry', { errorClass: 'ECONNREFUSED' }),
      }),
    ).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({
      due: 'later',
      owner: null,
      attempt: 1,
      suspect_to: null,
      first_at: expect.any(Date),
      trouble: null,
    });
    expect(await s.row(`select phase, outcome, error_class from comanda.attempt`)).toEqual({
      phase: 'end',
      outcome: 'retry',
      error_class: 'ECONNREFUSED',
    });
    await everythingIsDue(s);
    expect(await claimOne(s)).toMatchObject({ suspect: false, attempt: 2 });
  });

  test('retry with giveBack: a clean release is not an attempt', async () => {
    const { s, c } = await claimed(1);
    for (let release = 0; release < 5; release++) {
      const x = release === 0 ? first(c) : await claimOne(s);
      expect(x.attempt).toBe(1);
      expect(await settle(s, x, 'retry', { giveBack: true })).toBe('ok');
    }
    expect(await lane(s, 'k:a')).toMatchObject({ attempt: 0 });
  });

  test('retry of a follower counts its own attempts, not those of the head that ended before it', async () => {
    const { s, c } = await claimed(3);
    await settle(s, first(c), 'retry', { delayMs: 0 });
    await settle(s, await claimOne(s), 'retry', { delayMs: 0 });
    const third = await claim(s, { batch: 3 });
    expect(third.map(({ attempt }) => attempt)).toEqual([3, 1, 1]);
    const [a, b] = third;
    expect(await settle(s, a, 'retry', { delayMs: 0, ended: [ended(a)], head: head(b, 'retry') })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({ attempt: 1, lost: 0, looks: 0 });
    expect((await claimOne(s)).attempt).toBe(2);
  });

  test('R5: unsure marks the head suspect, and a cancellation is not honoured after it', async () => {
    const { s, ids, c } = await claimed(2);
    expect(await settle(s, first(c), 'unsure', { delayMs: 60_000, head: head(first(c), 'unknown') })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({
      suspect_to: first(c).pos,
      cleared_to: null,
      attempt: 1,
      owner: null,
      trouble: null,
      first_at: expect.any(Date),
    });
    await s.call('cancel', { key: 'a-1' });
    await everythingIsDue(s);
    const again = await claimOne(s, 'r2', 10);
    expect(again).toMatchObject({ effect_id: ids[0], suspect: true, cancel: true });
    expect(await maySend(s, again)).toBe('go');
  });

  test('unknown: the head waits for its look-up, which is not counted as an attempt', async () => {
    const { s, ids, c } = await claimed(2);
    expect(await settle(s, first(c), 'unknown', { delayMs: 60_000, head: head(first(c), 'unknown') })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({
      due: 'later',
      trouble: 'unknown',
      suspect_to: first(c).pos,
      attempt: 1,
      looks: 0,
      parked_by: null,
    });
    expect(await state(s, ids[0])).toBe('unknown');
    await everythingIsDue(s);
    const look = await claimOne(s, 'r2', 10);
    expect(look).toMatchObject({ effect_id: ids[0], trouble: 'unknown', suspect: true, attempt: 1 });
    expect(await settle(s, look, 'unknown', { delayMs: 60_000, looked: true, head: head(look, 'cannot_tell') })).toBe(
      'ok',
    );
    expect(await lane(s, 'k:a')).toMatchObject({ trouble: 'unknown', looks: 1, attempt: 1 });
    expect(await s.rows(`select phase from comanda.attempt order by at`)).toEqual([
      { phase: 'end' },
      { phase: 'look' },
    ]);
  });

  test('a look-up that is given back stays a look-up', async () => {
    const { s, c } = await claimed(1);
    await settle(s, first(c), 'unknown', { looked: true });
    const look = await claimOne(s);
    expect(await settle(s, look, 'retry', { giveBack: false })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({ trouble: 'unknown', looks: 1, suspect_to: first(c).pos, attempt: 1 });
  });

  test('R3: absent clears the head although followers stay suspect, until its next uncertain attempt', async () => {
    const { s, ids, c } = await claimed(2);
    await everythingIsDue(s); // the holder of both died: both are suspect
    const look = await claimOne(s, 'r2', 10);
    expect(look).toMatchObject({ effect_id: ids[0], suspect: true });
    expect(await settle(s, look, 'unknown', { head: head(look, 'unknown') })).toBe('ok');
    const again = await claimOne(s, 'r2', 10);
    expect(await settle(s, again, 'absent', { head: head(again, 'absent') })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({
      due: 'now',
      trouble: null,
      looks: 0,
      cleared_to: first(c).pos,
      suspect_to: c[1]?.pos,
    });
    const clean = await claimOne(s, 'r2', 10);
    expect(clean).toMatchObject({ effect_id: ids[0], suspect: false });
    expect(await settle(s, clean, 'unsure', { head: head(clean, 'unknown') })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({ cleared_to: null, suspect_to: c[1]?.pos });
    const suspect = await claimOne(s, 'r2', 10);
    expect(suspect.suspect).toBe(true);
    expect(await settle(s, suspect, 'next', { ended: [ended(suspect)] })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({ suspect_to: c[1]?.pos, first_at: expect.any(Date) });
    expect(await claimOne(s, 'r2', 10)).toMatchObject({ effect_id: ids[1], suspect: true });
  });

  test.each([
    ['expires', async (s: Engine) => everythingIsDue(s)],
    ['is unsure', async (s: Engine, x: Claimed) => void (await settle(s, x, 'unsure'))],
    ['ends unknown', async (s: Engine, x: Claimed) => void (await settle(s, x, 'unknown'))],
    [
      'is left to a person',
      async (s: Engine, x: Claimed) => void (await settle(s, x, 'block', { trouble: 'unknown', reason: 'ask' })),
    ],
  ])('R3: the mark of an absent head is gone when its next attempt %s', async (_, attempt) => {
    const { s, c } = await claimed(1);
    await settle(s, first(c), 'unknown');
    const look = await claimOne(s);
    await settle(s, look, 'absent', { head: head(look, 'absent') });
    await attempt(s, await claimOne(s));
    if ((await lane(s, 'k:a'))?.due === 'now') await claimOne(s);
    expect(await lane(s, 'k:a')).toMatchObject({ cleared_to: null, suspect_to: first(c).pos });
  });

  test('a certain failure after absent keeps the head clean', async () => {
    const { s, c } = await claimed(1);
    await settle(s, first(c), 'unknown');
    const look = await claimOne(s);
    await settle(s, look, 'absent', { head: head(look, 'absent') });
    await settle(s, await claimOne(s), 'retry', { delayMs: 0 });
    expect(await claimOne(s)).toMatchObject({ suspect: false });
  });

  test('relay-model R5: late evidence beats absent, in the same statement', async () => {
    const { s, ids, c } = await claimed(2);
    await settle(s, first(c), 'unknown');
    const look = await claimOne(s, 'r2', 10);
    const item = happened(first(c));
    expect(await s.call('late_evidence', { relay: 'r1', items: [item] })).toEqual([{ effect_id: ids[0], kept: true }]);
    expect(await s.call('late_evidence', { relay: 'r1', items: [item] })).toEqual([{ effect_id: ids[0], kept: false }]);
    expect(await settle(s, look, 'absent', { head: head(look, 'absent') })).toBe('ok');
    expect(await s.row(`select state, provider_id, reason from comanda.outcome`)).toEqual({
      state: 'completed',
      provider_id: 're_1',
      reason: 'late evidence',
    });
    expect(await lane(s, 'k:a')).toMatchObject({ due: 'now', cleared_to: null, trouble: null, attempt: 0 });
    expect(await claimOne(s)).toMatchObject({ effect_id: ids[1], suspect: false });
  });

  test.each([
    [
      'ended',
      (c: Claimed) => ({ ended: [{ ...head(c, 'absent'), pos: c.pos, state: 'failed', reason: 'exhausted' }] }),
    ],
    ['block', (c: Claimed) => ({ trouble: 'failed', headFailed: true, reason: 'failed: x', head: head(c, 'absent') })],
  ] as const)('late evidence beats an absent that would end the effect (%s)', async (form, more) => {
    const { s, ids, c } = await claimed(2);
    await settle(s, first(c), 'unknown');
    const look = await claimOne(s);
    const item = happened(first(c));
    await s.call('late_evidence', { relay: 'r1', items: [item] });
    expect(await settle(s, look, form === 'ended' ? 'next' : form, more(look))).toBe('ok');
    expect(await s.rows(`select effect_id, state, provider_id, reason from comanda.outcome`)).toEqual([
      { effect_id: ids[0], state: 'completed', provider_id: 're_1', reason: 'late evidence' },
    ]);
    expect(await claimOne(s)).toMatchObject({ effect_id: ids[1], suspect: false, trouble: null });
  });

  test('keepLost takes back what a question counted whose answer was lost', async () => {
    const { s, c } = await claimed(1);
    await everythingIsDue(s);
    const again = await claimOne(s);
    expect(again.lost).toBe(1);
    await maySend(s, again);
    expect(await lane(s, 'k:a')).toMatchObject({ lost: 2 });
    await settle(s, again, 'retry', { giveBack: true, keepLost: true, lost: again.lost, head: head(again, 'retry') });
    expect(await lane(s, 'k:a')).toMatchObject({ lost: 1 });
    expect(first(c).lost).toBe(0);
  });

  test('block by a switch: parked, without owner, evidence kept, and due again when the scope is on', async () => {
    const { s, c } = await claimed(1);
    await settle(s, first(c), 'unsure');
    const again = await claimOne(s);
    await turn(s, 'kind:mail', 'stop');
    expect(await settle(s, again, 'block', { reason: 'switch:kind:mail', giveBack: true })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({
      due: 'parked',
      parked_by: 'switch:kind:mail',
      owner: null,
      attempt: 1,
      suspect_to: first(c).pos,
      trouble: null,
    });
    expect(await maySend(s, again)).toBe('lost');
  });

  test('O09: block of a dead head: an outcome is written and the lane stands, visibly', async () => {
    const { s, ids, c } = await claimed(3);
    expect(
      await settle(s, first(c), 'block', {
        trouble: 'failed',
        headFailed: true,
        reason: 'failed: 422',
        head: head(first(c), 'failed', { status: 422 }),
      }),
    ).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({ due: 'parked', trouble: 'failed', owner: null });
    expect(await states(s, ids)).toEqual(['failed', 'pending', 'pending']);
    expect(await s.rows(`select what, effect_id, reason from comanda.attention`)).toContainEqual({
      what: 'blocked lane',
      effect_id: ids[0],
      reason: 'failed: 422',
    });
    expect(await claim(s)).toEqual([]);
  });

  test('block until a person has said what became of it', async () => {
    const { s, ids, c } = await claimed(1);
    expect(
      await settle(s, first(c), 'block', { trouble: 'unknown', reason: 'ask', head: head(first(c), 'unknown') }),
    ).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({ due: 'parked', trouble: 'unknown', suspect_to: first(c).pos });
    expect(await state(s, ids[0])).toBe('unknown');
    expect(await s.rows(`select what, effect_id from comanda.attention`)).toContainEqual({
      what: 'unknown outcome',
      effect_id: ids[0],
    });
  });

  test('S4: what is said about a head that is not the head is not written onto another', async () => {
    const { s, ids, c } = await claimed(2);
    const stranger = { ...head(first(c), 'unknown'), effect: ids[1] };
    expect(await settle(s, first(c), 'block', { trouble: 'unknown', reason: 'ask', head: stranger })).toBe('ok');
    expect(await lane(s, 'k:a')).toMatchObject({ due: 'now', trouble: null, parked_by: null });
  });

  test('an end row for each try, with what the provider said', async () => {
    const { s, c } = await claimed(2);
    const said = { providerId: 're_1', status: 201, response: '{"ok":true}', ms: 12 };
    await settle(s, first(c), 'next', { ended: [ended(first(c), 'completed', said), ended(c[1], 'cancelled')] });
    expect(
      await s.rows(`select outcome, provider_id, status, response, duration_ms, owner from comanda.attempt`),
    ).toEqual([
      { outcome: 'completed', provider_id: 're_1', status: 201, response: '{"ok":true}', duration_ms: 12, owner: 'r1' },
    ]);
    expect(await s.rows(`select state, provider_id from comanda.outcome order by effect_id`)).toEqual([
      { state: 'completed', provider_id: 're_1' },
      { state: 'cancelled', provider_id: null },
    ]);
  });

  test('many lanes in one call: each has its own answer', async () => {
    const s = await engine();
    await decide(
      s,
      'k',
      ['a', 'b', 'c'].map((name) => ({ name, orderingKey: name })),
    );
    await route(s);
    const claimedLanes = await claim(s);
    await s.rows(`update comanda.lane set fence = fence + 1000 where lane = 'k:b'`);
    const lanes = claimedLanes.map((x) => ({ lane: x.lane, fence: x.fence, mode: 'next', ended: [ended(x)] }));
    const answers = await s.call<{ lane: string; result: string }>('settle', { relay: 'r1', leaseMs: LEASE_MS, lanes });
    expect(answers.map((x) => [x.lane, x.result]).sort()).toEqual([
      ['k:a', 'ok'],
      ['k:b', 'fenced'],
      ['k:c', 'ok'],
    ]);
    expect(await holes(s)).toEqual([]);
  });
});
