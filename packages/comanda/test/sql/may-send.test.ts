import { describe, expect, test } from 'vitest';
import { type Engine, engine } from './kit/engine.js';
import {
  type Claimed,
  claim,
  claimOne,
  decide,
  everythingIsDue,
  head,
  maySend,
  route,
  settle,
  turn,
} from './kit/steps.js';

/** A claimed effect of a decision by `actor`. */
async function claimedBy(more: Record<string, unknown> = {}): Promise<{ s: Engine; c: Claimed }> {
  const s = await engine();
  await decide(s, 'k', [{ orderingKey: 'a', target: 'bank' }], more);
  await route(s);
  return { s, c: await claimOne(s) };
}

const starts = (s: Engine) =>
  s.rows(`select effect_id, fence, attempt, owner from comanda.attempt where phase = 'start'`);

describe('the lease', () => {
  test('go while it lasts, lost when it is somebody else', async () => {
    const { s, c } = await claimedBy();
    expect(await maySend(s, c)).toBe('go');
    await everythingIsDue(s);
    const next = await claimOne(s, 'r2');
    expect(await maySend(s, c)).toBe('lost');
    expect(await maySend(s, next)).toBe('go');
  });

  test('short when less is left of it than the send needs', async () => {
    const { s, c } = await claimedBy();
    expect(await maySend(s, c, { needMs: 60_000 })).toBe('short');
    await everythingIsDue(s);
    expect(await maySend(s, c)).toBe('short');
    expect(await maySend(s, c, { needMs: undefined }), 'whoever needs nothing needs a lease all the same').toBe(
      'short',
    );
  });

  test('lost when the lane was settled, parked or is gone', async () => {
    const { s, c } = await claimedBy();
    await settle(s, c, 'retry', { delayMs: 60_000 });
    expect(await maySend(s, c)).toBe('lost');
    await s.rows('delete from comanda.effect_queue');
    await s.rows('delete from comanda.lane');
    expect(await maySend(s, c)).toBe('lost');
  });

  test('the answer belongs to the fence: several items in one call', async () => {
    const { s, c } = await claimedBy();
    const item = (x: Claimed) => ({
      lane: x.lane,
      fence: x.fence,
      effect: x.effect_id,
      attempt: 1,
      suspect: false,
      lost: 0,
      mark: false,
      needMs: 1,
    });
    const items = [item(c), item({ ...c, fence: c.fence - 1 })];
    const answers = await s.call<{ fence: number; answer: string }>('may_send', { relay: 'r1', floor: 'none', items });
    expect(new Map(answers.map(({ fence, answer }) => [fence, answer]))).toEqual(
      new Map([
        [c.fence, 'go'],
        [c.fence - 1, 'lost'],
      ]),
    );
  });
});

describe('the start row', () => {
  test('is written with go, once per fence, and only with mark', async () => {
    const { s, c } = await claimedBy();
    expect(await maySend(s, c)).toBe('go');
    expect(await starts(s)).toEqual([]);
    expect(await maySend(s, c, { mark: true })).toBe('go');
    expect(await maySend(s, c, { mark: true }), 'its answer was lost: asked again').toBe('go');
    expect(await starts(s)).toEqual([{ effect_id: c.effect_id, fence: c.fence, attempt: 1, owner: 'r1' }]);
    await everythingIsDue(s);
    const next = await claimOne(s, 'r2');
    await maySend(s, next, { mark: true });
    expect((await starts(s)).map(({ fence }) => fence)).toEqual([c.fence, next.fence]);
  });

  test.each(['short', 'off:all', 'lost', 'cancel'])('is not written with %s', async (answer) => {
    const { s, c } = await claimedBy();
    if (answer === 'off:all') await turn(s, 'all', 'stop');
    if (answer === 'cancel') await s.call('cancel', { key: 'k' });
    if (answer === 'lost') await s.rows('update comanda.lane set fence = fence + 1');
    expect(await maySend(s, c, { mark: true, needMs: answer === 'short' ? 60_000 : 1 })).toBe(answer);
    expect(await starts(s)).toEqual([]);
  });

  test('is what payloads() tells about a suspect, until an end says that it did nothing or a look-up that it is absent', async () => {
    const { s, c } = await claimedBy();
    const told = async (): Promise<unknown> =>
      (await s.call<{ started_fence: unknown }>('payloads', { effects: [c.effect_id], suspects: [c.effect_id] }))[0]
        ?.started_fence;
    expect(await told()).toBeNull();
    await maySend(s, c, { mark: true });
    expect(await told()).toBe(c.fence);
    expect(
      (await s.call<{ started_fence: unknown }>('payloads', { effects: [c.effect_id] }))[0]?.started_fence,
      'for suspects only',
    ).toBeNull();
    await settle(s, c, 'retry', { head: head(c, 'retry') });
    expect(await told()).toBeNull();
    const again = await claimOne(s);
    await maySend(s, again, { mark: true });
    expect(await told()).toBe(again.fence);
    await settle(s, again, 'unknown', { head: head(again, 'unknown') });
    expect(await told()).toBe(again.fence);
    const look = await claimOne(s);
    await settle(s, look, 'absent', { head: head(look, 'absent') });
    expect(await told()).toBeNull();
    const last = await claimOne(s);
    await maySend(s, last, { mark: true });
    await s.rows(`update comanda.attempt set at = at - interval '1 hour' where fence = $1`, [last.fence]);
    expect(await told(), 'the clock of the database stepped back').toBe(last.fence);
  });
});

describe('a cancellation', () => {
  test('is answered by the owner before it sends', async () => {
    const { s, c } = await claimedBy();
    expect(await s.call('cancel', { key: 'k' })).toEqual([
      { effect_id: c.effect_id, name: 'mail', answer: 'requested' },
    ]);
    expect(await maySend(s, c)).toBe('cancel');
    expect(await settle(s, c, 'next', { ended: [{ pos: c.pos, effect: c.effect_id, state: 'cancelled' }] })).toBe('ok');
    expect(await s.row('select answer from comanda.effect_request')).toEqual({ answer: 'cancelled' });
  });

  test('relay-model R1: is not honoured for a suspect', async () => {
    const { s, c } = await claimedBy();
    await everythingIsDue(s);
    await s.call('cancel', { key: 'k' });
    const suspect = await claimOne(s, 'r2');
    expect(suspect).toMatchObject({ cancel: true, suspect: true });
    expect(await maySend(s, suspect)).toBe('go');
    expect(
      await settle(s, suspect, 'next', {
        ended: [{ pos: c.pos, effect: c.effect_id, state: 'completed', outcome: 'completed' }],
      }),
    ).toBe('ok');
    expect(await s.row('select answer from comanda.effect_request')).toEqual({ answer: 'too late' });
  });

  test('that has been answered does not count', async () => {
    const { s, c } = await claimedBy();
    await s.call('cancel', { key: 'k' });
    await s.rows(`update comanda.effect_request set answered_at = now(), answer = 'too late'`);
    expect(await maySend(s, c)).toBe('go');
  });
});

describe('late evidence', () => {
  test('of a success: applied, for effects whose target does not recognise repetitions', async () => {
    const { s, c } = await claimedBy();
    await s.call('late_evidence', {
      relay: 'r0',
      items: [{ fence: c.fence - 1, effect: c.effect_id, attempt: 1, outcome: 'completed' }],
    });
    expect(await maySend(s, c, { mark: true })).toBe('applied');
    expect(await starts(s)).toEqual([]);
    expect(await maySend(s, c), 'a keyed one is sent again: the target knows').toBe('go');
  });

  test('of a failure is no reason not to send', async () => {
    const { s, c } = await claimedBy();
    await s.call('late_evidence', {
      relay: 'r0',
      items: [{ fence: c.fence - 1, effect: c.effect_id, attempt: 1, outcome: 'failed' }],
    });
    expect(await maySend(s, c, { mark: true })).toBe('go');
  });
});

describe('busy', () => {
  test('a suspect of a dead process is counted under the lock of its lane, which is not waited for', async () => {
    const { s } = await claimedBy();
    await everythingIsDue(s);
    const c = await claimOne(s, 'r2');
    const other = await s.session();
    await other.rows('begin');
    await other.rows('select from comanda.lane for update');
    expect(await maySend(s, c, { mark: true })).toBe('busy');
    expect(await starts(s)).toEqual([]);
    await other.rows('rollback');
    expect(await maySend(s, c, { mark: true })).toBe('go');
    expect(await s.row('select lost from comanda.lane')).toEqual({ lost: 2 });
  });
});

describe('P8: what is off is not sent', () => {
  const human = { actor: { type: 'human', id: 'ada' } };
  const agent = { actor: { type: 'agent', id: 'gpt' } };
  const behalf = {
    actor: {
      type: 'human',
      id: 'ada',
      onBehalfOf: { type: 'system', id: 'cron', onBehalfOf: { type: 'agent', id: 'gpt' } },
    },
  };
  test.each([
    ['kind:mail', human, 'off:kind:mail'],
    ['kind:crm', human, 'go'],
    ['target:bank', human, 'off:target:bank'],
    ['tenant:acme', { ...human, tenant: 'acme' }, 'off:tenant:acme'],
    ['tenant:acme', { ...human, tenant: 'other' }, 'go'],
    ['tenant:acme', human, 'go'],
    ['actor:human', human, 'off:actor:human'],
    ['actor:human', agent, 'go'],
    ['actor:agent', agent, 'off:actor:agent'],
    ['actor:agent', behalf, 'off:actor:agent'],
    ['actor:agent', { ...human, model: 'gpt-9' }, 'off:actor:agent'],
    ['actor:agent', human, 'go'],
    ['actor:agent', {}, 'go'],
    ['agent:gpt', agent, 'off:agent:gpt'],
    ['agent:gpt', behalf, 'off:agent:gpt'],
    ['agent:gpt', { actor: { type: 'agent', id: 'other' } }, 'go'],
    ['agent:ada', human, 'go'],
    ['all', human, 'off:all'],
  ])('scope %s, decided by %o: %s', async (scope, by, answer) => {
    const { s, c } = await claimedBy(by);
    await turn(s, scope, 'stop');
    expect(await maySend(s, c, { mark: true })).toBe(answer);
    if (answer === 'go') return;
    // The relay parks the lane by what was answered; it is due again exactly when that scope is on.
    await settle(s, c, 'block', { reason: `switch:${answer.slice(4)}`, giveBack: true });
    await s.call('sweep', { relay: 'r1' });
    expect(await claim(s), 'still off').toEqual([]);
    await turn(s, scope, 'run');
    await s.call('sweep', { relay: 'r1' });
    expect(await claim(s)).toEqual([expect.objectContaining({ attempt: 1, suspect: false })]);
  });

  test('the scope that is off is named, not the actor, when several agents are in the chain', async () => {
    const { s, c } = await claimedBy({
      actor: { type: 'agent', id: 'front', onBehalfOf: { type: 'agent', id: 'back' } },
    });
    await turn(s, 'agent:back', 'stop');
    expect(await maySend(s, c)).toBe('off:agent:back');
  });

  test.each([
    ['none', {}, 'go'],
    ['none', agent, 'go'],
    ['agents', human, 'go'],
    ['agents', {}, 'go'],
    ['agents', agent, 'off:floor:agents'],
    ['agents', behalf, 'off:floor:agents'],
    ['agents', { ...human, model: 'gpt-9' }, 'off:floor:agents'],
    ['agents_and_undeclared', human, 'go'],
    ['agents_and_undeclared', {}, 'off:floor:undeclared'],
    ['agents_and_undeclared', agent, 'off:floor:agents'],
    ['agentz', {}, 'off:floor:undeclared'],
    ['agentz', agent, 'off:floor:agents'],
    ['', {}, 'off:floor:undeclared'],
  ])('floor "%s", decided by %o: %s', async (floor, by, answer) => {
    const { s, c } = await claimedBy(by);
    expect(await maySend(s, c, { mark: true }, floor)).toBe(answer);
    expect(await starts(s)).toHaveLength(answer === 'go' ? 1 : 0);
  });

  test('a request that says nothing of a floor is held to the strictest', async () => {
    const { s, c } = await claimedBy();
    const item = { lane: c.lane, fence: c.fence, effect: c.effect_id, needMs: 1 };
    expect((await s.call<{ answer: string }>('may_send', { items: [item] }))[0]?.answer).toBe('off:floor:undeclared');
  });
});
