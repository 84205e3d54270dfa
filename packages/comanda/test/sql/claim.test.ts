import { describe, expect, test } from 'vitest';
import { engine } from './kit/engine.js';
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
  maySend,
  route,
  settle,
  state,
  states,
  sweep,
  turn,
} from './kit/steps.js';

describe('what a claim takes', () => {
  test('the prefix of the head with equal kind and target, in order, up to the batch', async () => {
    const s = await engine();
    const [a, b] = await decideInOrder(s, 'a', 2);
    await decide(s, 'other target', [{ orderingKey: 'a', target: 'elsewhere' }]);
    await decide(s, 'again', [{ orderingKey: 'a' }]);
    await route(s);
    const taken = await claim(s, { batch: 10 });
    expect(taken.map((c) => c.effect_id)).toEqual([a, b]);
    expect(taken.map((c) => [c.attempt, c.suspect, c.lost, c.cancel])).toEqual([
      [1, false, 0, false],
      [1, false, 0, false],
    ]);
    expect(await lane(s, 'k:a')).toMatchObject({ owner: 'r1', attempt: 1, inflight_to: taken[1]?.pos, due: 'later' });
  });

  test('a follower of another kind is claimed by a relay that knows it, when it is the head', async () => {
    const s = await engine();
    const [mail] = await decide(s, '1', [{ orderingKey: 'a', kind: 'mail' }]);
    const [crm] = await decide(s, '2', [{ orderingKey: 'a', kind: 'crm' }]);
    await route(s);
    expect(await claim(s, { kinds: ['crm'] })).toEqual([]);
    const [c] = await claim(s, { kinds: ['mail', 'crm'], batch: 10 });
    expect(c).toMatchObject({ effect_id: mail });
    await settle(s, c, 'next', { ended: [ended(c)] });
    expect(await claim(s, { kinds: ['mail'] })).toEqual([]);
    expect(await claim(s, { kinds: ['crm'] })).toEqual([expect.objectContaining({ effect_id: crm })]);
  });

  test('at most the lanes asked for, per kind, oldest first', async () => {
    const s = await engine();
    for (const key of ['1', '2', '3']) await decide(s, key, [{ kind: 'mail' }, { kind: 'crm', name: 'crm' }]);
    await route(s);
    const taken = await s.call<{ kind: string }>('claim', {
      relay: 'r1',
      leaseMs: 1000,
      kinds: [
        { kind: 'mail', lanes: 2 },
        { kind: 'crm', lanes: 1 },
      ],
    });
    expect(taken.map(({ kind }) => kind).sort()).toEqual(['crm', 'mail', 'mail']);
    expect(await s.call('claim', { relay: 'r1', leaseMs: 1000, kinds: [{ kind: 'mail', lanes: 0 }] })).toEqual([]);
    expect(
      await s.call('claim', { relay: 'r1', leaseMs: 1000, kinds: [{ kind: 'crm' }] }),
      'no number: one',
    ).toHaveLength(1);
  });

  test('L11: two relays at once never take the same lane', async () => {
    const s = await engine();
    for (let i = 0; i < 40; i++) await decide(s, `k${i}`, [{}]);
    await route(s);
    const relays = await Promise.all(['r1', 'r2', 'r3', 'r4'].map(async (relay) => ({ relay, on: await s.session() })));
    const rounds = await Promise.all(relays.flatMap(({ relay, on }) => [claim(on, { relay, lanes: 10 })]));
    const taken = rounds.flat().map((c) => c.effect_id);
    expect(new Set(taken).size).toBe(taken.length);
    expect(await s.row('select count(*) as n from comanda.lane where owner is not null')).toEqual({ n: taken.length });
  });

  test('a lane that another session has locked is passed by', async () => {
    const s = await engine();
    await decide(s, '1', [{ orderingKey: 'a' }]);
    await decide(s, '2', [{ orderingKey: 'b' }]);
    await route(s);
    const other = await s.session();
    await other.rows('begin');
    await other.rows(`select from comanda.lane where lane = 'k:a' for update`);
    expect((await claim(s)).map((c) => c.lane)).toEqual(['k:b']);
    await other.rows('rollback');
    expect((await claim(s)).map((c) => c.lane)).toEqual(['k:a']);
  });

  test('G07: a kind that the relay does not know stays pending, and attention says so', async () => {
    const s = await engine();
    const [id] = await decide(s, '1', [{ kind: 'brand_new' }]);
    await route(s);
    await s.call('relay_beat', { relay: 'r1', kinds: ['mail'] });
    expect(await claim(s, { kinds: ['mail'] })).toEqual([]);
    await s.rows(`update comanda.lane set ready_at = clock_timestamp() - interval '1 minute'`);
    expect(await state(s, id)).toBe('pending');
    expect(await s.rows('select what, kind from comanda.attention')).toContainEqual({
      what: 'no relay for this kind',
      kind: 'brand_new',
    });
    expect(await holes(s)).toEqual([]);
  });

  test('a request without a relay or a lease is refused', async () => {
    const s = await engine();
    for (const [name, request] of [
      ['claim', { leaseMs: 1 }],
      ['claim', { relay: 'r' }],
      ['route', { relay: 'r' }],
    ] as const) {
      expect(await s.sqlstate(`select * from comanda.${name}($1::text::jsonb)`, [JSON.stringify(request)])).toBe(
        'CM009',
      );
    }
  });
});

describe('suspects', () => {
  test('L06: an expired lease is a due lane; its rows come back as suspects, one at a time, under a higher fence', async () => {
    const s = await engine();
    const ids = await decideInOrder(s, 'a', 3);
    await route(s);
    const before = await claim(s, { relay: 'host', batch: 2 });
    expect(before).toHaveLength(2);
    await everythingIsDue(s);
    expect(await states(s, ids), 'it may have been sent').toEqual(['sending', 'sending', 'pending']);
    const [head1, ...rest] = await claim(s, { relay: 'host', batch: 10 });
    expect(rest).toEqual([]);
    expect(head1).toMatchObject({ effect_id: ids[0], suspect: true, lost: 1, attempt: 2 });
    expect(Number(head1?.fence)).toBeGreaterThan(Number(before[0]?.fence));
    await settle(s, head1, 'next', { ended: [ended(head1)] });
    const [head2] = await claim(s, { batch: 10 });
    expect(head2).toMatchObject({ effect_id: ids[1], suspect: true, attempt: 1 });
    await settle(s, head2, 'next', { ended: [ended(head2)] });
    const [head3] = await claim(s, { batch: 10 });
    expect(head3, 'was never in the dead claim').toMatchObject({ effect_id: ids[2], suspect: false, lost: 0 });
  });

  test('what the second holder settles does not clear what the first may have sent', async () => {
    const s = await engine();
    const ids = await decideInOrder(s, 'a', 3);
    await route(s);
    await claim(s, { batch: 3 });
    await everythingIsDue(s);
    const c = await claimOne(s, 'r2');
    await settle(s, c, 'retry', { delayMs: 0, head: head(c, 'retry') });
    expect(await claimOne(s, 'r3')).toMatchObject({ effect_id: ids[0], suspect: true });
  });

  test('L08: only starts as a suspect count towards the quarantine', async () => {
    const s = await engine();
    await decideInOrder(s, 'a', 1);
    await route(s);
    const lost: number[] = [];
    for (let i = 0; i < 4; i++) {
      const c = await claimOne(s, `r${i}`);
      lost.push(c.lost);
      expect(await maySend(s, c)).toBe('go');
      await everythingIsDue(s);
    }
    expect(lost).toEqual([0, 1, 2, 3]);
  });

  test('a holder that comes back with what it learned was slow, not dead: its start does not count', async () => {
    const s = await engine();
    await decideInOrder(s, 'a', 1);
    await route(s);
    let before: Claimed | undefined;
    for (let i = 0; i < 6; i++) {
      const c = await claimOne(s, `r${i}`);
      expect(c.lost).toBeLessThan(3);
      expect(await maySend(s, c)).toBe('go');
      if (before !== undefined) {
        const late = { relay: `r${i - 1}`, items: [{ ...head(before, 'retry'), fence: before.fence }] };
        for (const kept of [true, false]) expect(await s.call('late_evidence', late)).toMatchObject([{ kept }]);
      }
      before = c;
      await everythingIsDue(s);
    }
  });

  test('a holder that comes back without an answer does not shorten the wait for what it has sent', async () => {
    const s = await engine();
    await decideInOrder(s, 'a', 1);
    await route(s);
    const c = await claimOne(s, 'slow');
    expect(await maySend(s, c, { mark: true })).toBe('go');
    await everythingIsDue(s);
    await turn(s, 'target:mail', 'stop');
    expect(await claim(s), 'parked').toEqual([]);
    const late = { relay: 'slow', items: [{ ...head(c, 'unknown'), fence: c.fence }] };
    expect(await s.call('late_evidence', late)).toMatchObject([{ kept: true }]);
    await turn(s, 'target:mail', 'run');
    await sweep(s);
    // `lost` without `looks` is what makes a relay wait for lease end + timeout before it looks up.
    expect(await claimOne(s)).toMatchObject({ suspect: true, lost: 1, looks: 0 });
  });

  test('a relay that dies before it was told go does not count against the effect', async () => {
    const s = await engine();
    await decideInOrder(s, 'a', 1);
    await route(s);
    for (let i = 0; i < 4; i++) {
      await claimOne(s, `r${i}`);
      await everythingIsDue(s);
    }
    expect(await claimOne(s)).toMatchObject({ lost: 1, attempt: 5 });
  });

  test('a start that its process survived does not count, although its attempt is given back', async () => {
    const s = await engine();
    await decideInOrder(s, 'a', 1);
    await route(s);
    await claimOne(s);
    await everythingIsDue(s);
    for (let i = 0; i < 4; i++) {
      const c = await claimOne(s, `r${i}`);
      expect(c.lost).toBeLessThan(2);
      expect(await maySend(s, c)).toBe('go');
      // E.g. 429 with Retry-After: the provider asked for patience.
      expect(await settle(s, c, 'retry', { giveBack: true, head: head(c, 'retry') })).toBe('ok');
    }
  });

  test('what was lost is forgotten when the head has ended', async () => {
    const s = await engine();
    await decideInOrder(s, 'a', 2);
    await route(s);
    await claimOne(s);
    await everythingIsDue(s);
    const c = await claimOne(s);
    await settle(s, c, 'next', { ended: [ended(c)] });
    expect(await claimOne(s)).toMatchObject({ lost: 0, attempt: 1 });
  });
});
