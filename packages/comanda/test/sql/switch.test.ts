import { describe, expect, test } from 'vitest';
import { engine } from './kit/engine.js';
import {
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
  sweep,
  turn,
} from './kit/steps.js';

describe('switched off', () => {
  test('all: nothing is claimed, what arrives is only queued, and nothing may be sent', async () => {
    const s = await engine();
    const [id] = await decide(s, '1', [{ orderingKey: 'a' }]);
    await route(s);
    const c = await claimOne(s);
    await turn(s, 'all', 'stop');
    await decide(s, '2', [{ orderingKey: 'b' }]);
    expect(await route(s, { kinds: ['mail'] })).toEqual([]);
    expect(await claim(s)).toEqual([]);
    expect(await maySend(s, c)).toBe('off:all');
    expect(await state(s, id), 'in-flight work is reported truthfully').toBe('sending');
    expect(await holes(s)).toEqual([]);
    await turn(s, 'all', 'run');
    expect(await maySend(s, c)).toBe('go');
    expect((await claim(s)).map((x) => x.lane)).toEqual(['k:b']);
  });

  test('what is unknown is looked up all the same, but not after a failover: whoever asks there must first know what the kinds are worth', async () => {
    const s = await engine();
    await decide(s, '1', [{}]);
    await route(s);
    const c = await claimOne(s);
    await maySend(s, c, { mark: true });
    await settle(s, c, 'unknown', { delayMs: 0, head: head(c, 'unknown') });
    await everythingIsDue(s);
    await turn(s, 'all', 'hold');
    await s.rows('update comanda.installation set timeline = timeline + 1');
    expect(await claim(s)).toEqual([]);
    await turn(s, 'all', 'run');
    expect(await claim(s)).toEqual([]);
    await turn(s, 'all', 'hold');
    await s.call('adopt', { by: 'ada', reason: 'test', acceptTimeline: true });
    expect(await claim(s)).toMatchObject([{ effect_id: c.effect_id, trouble: 'unknown' }]);
  });

  test('the row for all is missing: nothing is claimed, nothing is sent, and attention says so', async () => {
    const s = await engine();
    await decide(s, '1', [{}]);
    await decide(s, '2', [{}]);
    await route(s);
    const [c] = await claim(s, { lanes: 1 });
    await s.rows(`delete from comanda.switch where scope = 'all'`);
    await s.rows(`insert into comanda.switch (scope, mode, set_by) values ('kind:mail', 'run', 'ada')`);
    await decide(s, '3', [{}]);
    expect(await claim(s)).toEqual([]);
    expect(await route(s, { kinds: ['mail'] })).toEqual([]);
    expect(await maySend(s, c)).toBe('off:all');
    await s.rows('delete from comanda.switch');
    expect(await claim(s)).toEqual([]);
    expect(await maySend(s, c)).toBe('off:all');
    expect(await s.rows('select what from comanda.attention')).toContainEqual({ what: 'switch is missing' });
    expect(await s.row(`select all_mode, stopped from comanda.relay_beat('{"relay":"r1"}')`)).toEqual({
      all_mode: null,
      stopped: ['all'],
    });
  });

  test('a kind: its lanes are left as they are, the others go on', async () => {
    const s = await engine();
    await decide(s, '1', [{ kind: 'mail' }, { kind: 'crm', name: 'crm' }]);
    await route(s);
    await turn(s, 'kind:mail', 'hold');
    expect((await claim(s, { kinds: ['mail', 'crm'] })).map((c) => c.kind)).toEqual(['crm']);
    expect(await s.row(`select count(*) as n from comanda.lane where parked_by is not null`)).toEqual({ n: 0 });
    await decide(s, '2', [{ kind: 'mail' }]);
    expect(await route(s, { kinds: ['mail'] })).toEqual([]);
    await turn(s, 'kind:mail', 'run');
    expect(await claim(s)).toHaveLength(2);
  });

  test('a target: its lanes are parked, so that they cost no later claim, and unparked level-triggered (R7)', async () => {
    const s = await engine();
    await decide(s, '1', [{ target: 'bank', orderingKey: 'a' }]);
    await decide(s, '2', [{ target: 'crm', orderingKey: 'b' }]);
    await route(s);
    await turn(s, 'target:bank', 'stop');
    expect((await claim(s)).map((c) => c.target)).toEqual(['crm']);
    const parked = await lane(s, 'k:a');
    expect(parked).toMatchObject({ due: 'parked', parked_by: 'switch:target:bank', owner: null });
    expect(await sweep(s)).toMatchObject({ unparked: 0 });
    // R7: whoever turns it on, and by whatever means, the next pass finds the lanes.
    await s.rows(`update comanda.switch set mode = 'run' where scope = 'target:bank'`);
    expect(await sweep(s)).toMatchObject({ unparked: 1 });
    expect(await lane(s, 'k:a')).toMatchObject({ due: 'now', parked_by: null });
    expect((await lane(s, 'k:a'))?.fence, 'an act on a lane draws a fence').toBeGreaterThan(Number(parked?.fence));
    expect((await claim(s)).map((c) => c.target)).toEqual(['bank']);
  });

  test('a lane that a new arrival of a stopped target makes is not leased by the router', async () => {
    const s = await engine();
    await turn(s, 'target:bank', 'stop');
    await decide(s, '1', [{ target: 'bank' }]);
    await decide(s, '2', [{ target: 'crm' }]);
    expect((await route(s, { kinds: ['mail'] })).map((c) => c.target)).toEqual(['crm']);
  });

  test('R4: parking an expired lease keeps its evidence, and its late owner is told', async () => {
    const s = await engine();
    await decideInOrder(s, 'a', 2, { target: 'bank' });
    await route(s);
    const [late] = await claim(s, { relay: 'late', batch: 2 });
    await everythingIsDue(s);
    await turn(s, 'target:bank', 'stop');
    expect(await claim(s, { relay: 'r2' })).toEqual([]);
    const parked = await lane(s, 'k:a');
    expect(parked).toMatchObject({ due: 'parked', owner: null, inflight_to: null });
    expect(Number(parked?.suspect_to)).toBeGreaterThan(Number(late?.pos));
    expect(await maySend(s, late)).toBe('lost');
    expect(await settle(s, late, 'keep', { ended: [ended(late)] })).toBe('fenced');
    await turn(s, 'target:bank', 'run');
    await sweep(s);
    expect(await claimOne(s, 'r2', 10)).toMatchObject({ suspect: true, pos: late?.pos });
  });

  test('drain: nothing new is claimed, what is claimed may still be sent', async () => {
    const s = await engine();
    await decide(s, '1', [{}, { name: 'b' }]);
    await route(s);
    const [c] = await claim(s, { lanes: 1 });
    for (const scope of ['all', 'kind:mail', 'target:mail']) {
      await turn(s, scope, 'drain');
      expect(await claim(s), scope).toEqual([]);
      expect(await maySend(s, c), scope).toBe('go');
      await turn(s, scope, 'run');
      await sweep(s);
    }
  });

  test.each(['actor:agent', 'agent:bot', 'tenant:acme'])(
    'drain of %s, which no claim looks at: nothing of it is sent',
    async (scope) => {
      const s = await engine();
      await decide(s, '1', [{}], { tenant: 'acme', actor: { type: 'agent', id: 'bot' } });
      await turn(s, scope, 'drain');
      await route(s);
      const [c] = await claim(s);
      expect(await maySend(s, c)).toBe(`off:${scope}`);
      expect(await settle(s, c, 'block', { reason: `switch:${scope}`, giveBack: true })).toBe('ok');
      await sweep(s);
      expect(await claim(s), 'it stays parked while it drains').toEqual([]);
      await turn(s, scope, 'run');
      await sweep(s);
      expect(await maySend(s, await claimOne(s))).toBe('go');
    },
  );

  test('an unknown mode in the table is not run', async () => {
    const s = await engine();
    await decide(s, '1', [{}]);
    await route(s);
    await s.rows(`alter table comanda.switch drop constraint switch_mode_check`);
    await s.rows(`update comanda.switch set mode = 'rum' where scope = 'all'`);
    expect(await claim(s)).toEqual([]);
  });

  test.each([
    [{ scope: 'all', mode: 'off', by: 'a', reason: 'b' }, 'CM011'],
    [{ scope: 'everything', mode: 'stop', by: 'a', reason: 'b' }, 'CM011'],
    [{ scope: 'actor:robot', mode: 'stop', by: 'a', reason: 'b' }, 'CM011'],
    [{ scope: `kind:${'x'.repeat(600)}`, mode: 'stop', by: 'a', reason: 'b' }, 'CM011'],
    [{ scope: 'all', mode: 'stop', reason: 'b' }, 'CM013'],
    [{ scope: 'all', mode: 'stop', by: 'a' }, 'CM013'],
  ])('switch_set refuses %o', async (request, code) => {
    const s = await engine();
    expect(await s.sqlstate('select * from comanda.switch_set($1::text::jsonb)', [JSON.stringify(request)])).toBe(code);
    expect(await s.rows('select scope, mode from comanda.switch')).toEqual([{ scope: 'all', mode: 'run' }]);
  });

  test('each turn has a higher version, and is on record with a name', async () => {
    const s = await engine();
    const version = async (): Promise<number> =>
      Number((await s.row<{ v: number }>('select max(version) as v from comanda.switch')).v);
    const before = await version();
    await turn(s, 'kind:mail', 'stop');
    const after = await version();
    expect(after).toBeGreaterThan(before);
    await turn(s, 'kind:mail', 'run');
    expect(await version()).toBeGreaterThan(after);
    expect(await s.rows(`select actor, act, subject from comanda.audit`)).toEqual([
      { actor: 'ada', act: 'switch', subject: 'kind:mail' },
      { actor: 'ada', act: 'switch', subject: 'kind:mail' },
    ]);
  });
});
