import { describe, expect, test } from 'vitest';
import { type Engine, engine } from './kit/engine.js';
import {
  claim,
  decide,
  decideInOrder,
  ended,
  everythingIsDue,
  head,
  holes,
  nothingWaits,
  route,
  settle,
  sweep,
  turn,
} from './kit/steps.js';

/** One of everything: waiting, arrived, queued, leased, blocked. */
async function busy(): Promise<Engine> {
  const s = await engine();
  await decideInOrder(s, 'dead', 2, { kind: 'crm' });
  await decide(s, 'due', [{ orderingKey: 'due' }, { name: 'unkeyed' }]);
  await route(s);
  const [c] = await claim(s, { kinds: ['crm'] });
  await settle(s, c, 'block', { trouble: 'failed', headFailed: true, reason: 'failed', head: head(c, 'failed') });
  await claim(s, { lanes: 1 });
  await decide(s, 'waits', [
    { name: 'a', delayMs: 60_000 },
    { name: 'b', cancelWindowMs: 60_000 },
  ]);
  await decide(s, 'arrived', [{ orderingKey: 'new' }, { name: 'b' }]);
  expect(await holes(s)).toEqual([]);
  return s;
}

describe('P2: unattended finds each hole that is made by hand', () => {
  test.each([
    ['an arrival is deleted', `delete from comanda.effect_arrival where lane like 'k:%'`, ['effect is nowhere']],
    ['a waiting row is deleted', `delete from comanda.waiting where reason = 'window'`, ['effect is nowhere']],
    [
      'a queue row is deleted',
      `delete from comanda.effect_queue where lane = 'k:due'`,
      ['effect is nowhere', 'lane without effects'],
    ],
    [
      'a follower is deleted',
      `delete from comanda.effect_queue q where pos > (select min(pos) from comanda.effect_queue x where x.lane = q.lane)`,
      ['effect is nowhere'],
    ],
    ['a lane is deleted', `delete from comanda.lane where lane = 'k:due'`, ['queued without a lane']],
    [
      'a lane is invented',
      `insert into comanda.lane (lane, kind, target, ready_at, fence) values ('k:x', 'mail', 'mail', now(), 1)`,
      ['lane without effects'],
    ],
    [
      'a lane has another kind than its head',
      `update comanda.lane set kind = 'crm' where lane = 'k:due'`,
      ['lane differs from its head'],
    ],
    [
      'a lane has another target than its head',
      `update comanda.lane set target = 'crm' where lane = 'k:due'`,
      ['lane differs from its head'],
    ],
    [
      'a lane is parked for no reason',
      `update comanda.lane set ready_at = 'infinity', parked_by = 'because', parked_at = now(), owner = null where lane = 'k:due'`,
      ['parked without a live reason'],
    ],
    [
      'what a parked lane was in trouble for is forgotten',
      `update comanda.lane set trouble = null where lane = 'k:dead'`,
      ['parked without a live reason'],
    ],
    [
      'an effect is held by an approval that is not there',
      `update comanda.waiting set reason = 'held', approval_id = 4711 where reason = 'delayed'`,
      ['held without an approval or prerequisite'],
    ],
    [
      'an effect is held by one that has ended',
      `with d as (insert into comanda.outcome (effect_id, fence, state, settled_by, attempts)
        select effect_id, 1, 'cancelled', 'x', 0 from comanda.waiting where reason = 'window' returning effect_id), w as (delete from comanda.waiting where reason = 'window')
        update comanda.waiting set reason = 'held', prerequisite_id = (select effect_id from d) where reason = 'delayed'`,
      ['held without an approval or prerequisite'],
    ],
    [
      'a run waits for an approval that is not there',
      `update comanda.run set state = 'awaiting_human' where key = 'due'`,
      ['run awaits a human without an open approval'],
    ],
    [
      'several at once',
      `delete from comanda.lane where lane like 'k:d%'; delete from comanda.effect_arrival`,
      [
        'effect is nowhere',
        'effect is nowhere',
        'queued without a lane',
        'queued without a lane',
        'queued without a lane',
      ],
    ],
  ])('%s', async (_, damage, found) => {
    const s = await busy();
    await s.client.query(damage);
    expect(await holes(s)).toEqual(found);
  });

  test.each([
    ['a lane at infinity without a reason', `update comanda.lane set ready_at = 'infinity'`],
    ['a reason without infinity', `update comanda.lane set parked_by = 'x', parked_at = now()`],
    [
      'a parked lane with an owner',
      `update comanda.lane set ready_at = 'infinity', parked_by = 'x', parked_at = now(), owner = 'r', inflight_to = 1`,
    ],
    ['an owner without a place in flight', `update comanda.lane set owner = 'r', inflight_to = null`],
    ['waiting without a moment', `update comanda.waiting set next_at = 'infinity'`],
    ['waiting without a moment at all', `update comanda.waiting set next_at = null`],
    ['held by nothing', `update comanda.waiting set reason = 'held'`],
    ['a run that is processed by nobody', `update comanda.run set state = 'processing'`],
    ['a run to be retried at no moment', `update comanda.run set state = 'failed_retryable'`],
    ['a lease without an end', `update comanda.run set state = 'processing', lease_owner = 'x'`],
  ])('the database refuses %s', async (_, damage) => {
    const s = await busy();
    expect(await s.sqlstate(damage)).toMatch(/^23(514|502)$/);
  });

  test('held by a live approval, or by an effect that has not ended, is no hole', async () => {
    const s = await busy();
    await s.rows(
      `update comanda.waiting set reason = 'held', prerequisite_id = (select effect_id from comanda.effect_queue where lane = 'k:due') where reason = 'delayed'`,
    );
    expect(await holes(s)).toEqual([]);
    await s.rows(`with a as (insert into comanda.approval (run_id, effects_hash, mode, requester, expires_at) values (1, '\\x00', 'cancel_window', 'ada', now() + interval '1 hour') returning id)
      update comanda.waiting set reason = 'held', approval_id = (select id from a) where reason = 'window'`);
    expect(await holes(s)).toEqual([]);
    expect(await s.rows(`select status from comanda.outbox where status = 'held'`)).toHaveLength(2);
  });
});

describe('unattended is empty after every ordinary step', () => {
  test('a random walk of routes, claims, settles, sweeps, switches, cancellations', async () => {
    const s = await engine();
    let seed = 20_251_130;
    const random = (n: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * n);
    };
    const modes = ['next', 'retry', 'unsure', 'unknown', 'keep', 'block'];
    for (let step = 0; step < 120; step++) {
      const key = `k${step}`;
      switch (random(8)) {
        case 0:
          await decide(s, key, [
            { orderingKey: `lane ${random(3)}`, kind: ['mail', 'crm'][random(2)] ?? '' },
            { name: 'b', delayMs: 1 },
          ]);
          break;
        case 1:
          await route(s, { kinds: random(2) === 0 ? ['mail'] : [] });
          break;
        case 2:
          await nothingWaits(s);
          await sweep(s);
          break;
        case 3:
          await turn(s, ['all', 'kind:mail', 'target:crm'][random(3)] ?? '', ['run', 'run', 'stop'][random(3)] ?? '');
          break;
        case 4:
          await everythingIsDue(s);
          break;
        case 5:
          await s.rows(
            `select * from (select key from comanda.run order by random() limit 1) r, comanda.cancel(jsonb_build_object('key', r.key))`,
          );
          break;
        default: {
          const [c] = await claim(s, { kinds: ['mail', 'crm'], lanes: 1, batch: 1 + random(3) });
          const mode = modes[random(modes.length)] ?? 'next';
          if (c?.pos)
            await settle(s, c, mode, {
              delayMs: 0,
              reason: 'switch:all',
              ...(mode === 'next' && random(3) > 0 ? { ended: [ended(c)] } : {}),
            });
        }
      }
      expect(await holes(s), `step ${step}`).toEqual([]);
    }
  });

  test('an effect that was redriven and is on its way is nowhere else', async () => {
    const s = await busy();
    const [dead] = await s.rows<{ effect_id: number }>(`select effect_id from comanda.outcome where state = 'failed'`);
    await s.call('request', { effect: dead?.effect_id, action: 'redrive', by: 'ada', reason: 'r' });
    await sweep(s);
    expect(await holes(s)).toEqual([]);
    expect(await claim(s, { kinds: ['crm'], batch: 1 })).toEqual([
      expect.objectContaining({ effect_id: dead?.effect_id, attempt: 1 }),
    ]);
  });
});
