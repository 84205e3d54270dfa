import { expect } from 'vitest';
import type { Session } from '../../sql/kit/engine.js';
import {
  ask,
  claim,
  decide,
  ended,
  head,
  holes,
  maySend,
  nothingWaits,
  route,
  settle,
  states,
  sweep,
  turn,
} from '../../sql/kit/steps.js';

/** Everything that callers, relays and people do, once, on one installation: what works here works there. */
export async function wholeCycle(s: Session, prefix = 'cycle'): Promise<void> {
  const kind = `${prefix} mail`;
  await s.call('publish_kinds', {
    by: 'test',
    kinds: [
      {
        kind,
        version: 1,
        target: 'smtp',
        risk: 'reversible',
        idempotency: 'none',
        onUnknown: 'ask-human',
        maxAttempts: 3,
        timeoutMs: 1000,
      },
    ],
  });
  const ids = await decide(
    s,
    `${prefix} 1`,
    [
      { kind, name: 'a', orderingKey: `${prefix} lane` },
      { kind, name: 'b', orderingKey: `${prefix} lane` },
      { kind, name: 'c' },
      { kind, name: 'd', delayMs: 1 },
    ],
    { subject: 'order:1' },
  );
  await decide(
    s,
    `${prefix} 1`,
    [
      { kind, name: 'a', orderingKey: `${prefix} lane` },
      { kind, name: 'b', orderingKey: `${prefix} lane` },
      { kind, name: 'c' },
      { kind, name: 'd', delayMs: 1 },
    ],
    { subject: 'order:1' },
  );
  await decide(s, `${prefix} 2`, [{ kind, cancelWindowMs: 60_000 }]);
  expect(await s.call('cancel', { key: `${prefix} 2` })).toEqual([expect.objectContaining({ answer: 'cancelled' })]);
  await nothingWaits(s);
  expect(await sweep(s)).toMatchObject({ moved: 1, ran: true });
  await s.call('relay_beat', { relay: 'r1', kinds: [kind] });
  const leased = await route(s, { kinds: [kind], lanes: 1 });
  const taken = [...leased, ...(await claim(s, { kinds: [kind], batch: 1 }))];
  expect(taken).toHaveLength(3);
  const told = await s.call<{ idempotency_key: string }>('payloads', {
    effects: taken.map((c) => c.effect_id),
    suspects: [],
  });
  expect(told.map((x) => x.idempotency_key).sort()).toEqual(['a', 'c', 'd'].map((name) => `${prefix} 1/${name}`));
  expect(
    await s.call('renew', {
      relay: 'r1',
      leaseMs: 30_000,
      lanes: taken.map((c) => ({ lane: c.lane, fence: c.fence })),
    }),
  ).toEqual(taken.map(() => expect.objectContaining({ result: 'ok' })));
  const [a, c, d] = ['a', 'c', 'd'].map((name) => taken.find((x) => x.effect_id === ids['abcd'.indexOf(name)]));
  for (const x of [a, c, d]) expect(await maySend(s, x, { mark: true })).toBe('go');
  expect(await settle(s, a, 'block', { trouble: 'unknown', reason: 'ask', head: head(a, 'unknown') })).toBe('ok');
  expect(await settle(s, c, 'next', { ended: [ended(c)] })).toBe('ok');
  expect(await settle(s, d, 'next', { ended: [ended(d, 'failed')] })).toBe('ok');
  await s.call('late_evidence', {
    relay: 'r1',
    items: [{ fence: a?.fence, effect: a?.effect_id, attempt: 1, outcome: 'unknown' }],
  });
  expect(await ask(s, ids[0], 'resolve', { as: 'completed' })).toBe('resolved as completed');
  expect(await ask(s, ids[3], 'redrive')).toBe('redriven');
  expect(await states(s, ids)).toEqual(['completed', 'pending', 'completed', 'pending']);
  await route(s);
  const rest = await claim(s, { kinds: [kind] });
  await turn(s, 'target:smtp', 'stop');
  expect(await maySend(s, rest[0])).toBe('off:target:smtp');
  await turn(s, 'target:smtp', 'run');
  for (const x of rest) expect(await settle(s, x, 'next', { ended: [ended(x)] })).toBe('ok');
  expect(await states(s, ids)).toEqual(['completed', 'completed', 'completed', 'completed']);
  expect(await s.rows(`select status from comanda.run_ledger where idempotency_key = $1`, [`${prefix} 1`])).toEqual([
    { status: 'done' },
  ]);
  for (const view of ['outbox', 'effect_state', 'attention', 'gauges']) await s.rows(`select * from comanda.${view}`);
  await s.rows('select comanda.set_awake(1000), comanda.wake_channel()');
  expect(await holes(s)).toEqual([]);
}
