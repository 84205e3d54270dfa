import { describe, expect, test } from 'vitest';
import { type Engine, engine } from './kit/engine.js';
import {
  ask,
  type Claimed,
  claimOne,
  decide,
  ended,
  everythingIsDue,
  given,
  head,
  holes,
  lane,
  maySend,
  nothingWaits,
  route,
  settle,
  state,
  sweep,
} from './kit/steps.js';

const HOUR = 3_600_000;
const starts = (s: Engine) => s.rows(`select effect_id from comanda.attempt where phase = 'start'`);

/** The head was first claimed so long ago. */
const firstClaimed = (s: Engine, agoMs: number) =>
  s.rows(`update comanda.lane set first_at = clock_timestamp() - $1::float8 * interval '1 millisecond'`, [agoMs]);

async function claimed(effect: Parameters<typeof decide>[2][number] = {}): Promise<{ s: Engine; c: Claimed }> {
  const s = await engine();
  await decide(s, 'k', [effect]);
  await route(s);
  return { s, c: await claimOne(s) };
}

describe('the lifetime of the key, counted from the first claim', () => {
  test('inside it nothing changes, also for what may have been sent', async () => {
    const { s, c } = await claimed();
    await firstClaimed(s, HOUR - 5_000);
    expect(await maySend(s, c, { windowMs: HOUR })).toBe('go');
    expect(await maySend(s, { ...c, suspect: true }, { windowMs: HOUR })).toBe('go');
    expect(await starts(s)).toEqual([]);
  });

  test('after it, what was never sent goes as a kind without key: with a start row', async () => {
    const { s, c } = await claimed();
    await firstClaimed(s, HOUR + 5_000);
    expect(await maySend(s, c, { windowMs: HOUR })).toBe('go:none');
    expect(await starts(s)).toEqual([{ effect_id: c.effect_id }]);
  });

  test('after it, what may have been sent is not sent', async () => {
    const { s, c } = await claimed();
    await firstClaimed(s, HOUR + 5_000);
    expect(await maySend(s, { ...c, suspect: true }, { windowMs: HOUR })).toBe('forgotten');
    expect(await starts(s)).toEqual([]);
  });

  test('after it, late evidence is the outcome', async () => {
    const { s, c } = await claimed();
    await firstClaimed(s, HOUR + 5_000);
    await s.call('late_evidence', {
      relay: 'r0',
      items: [{ fence: 0, effect: c.effect_id, attempt: 1, outcome: 'completed' }],
    });
    expect(await maySend(s, { ...c, suspect: true }, { windowMs: HOUR })).toBe('applied');
  });

  test('retries and take-overs do not start it again; the next effect of the lane starts its own', async () => {
    const s = await engine();
    await decide(s, 'one', [{ orderingKey: 'a' }]);
    await decide(s, 'two', [{ orderingKey: 'a' }]);
    await route(s);
    const first = await claimOne(s);
    await firstClaimed(s, HOUR);
    await settle(s, first, 'retry', { delayMs: 0, head: head(first, 'retry') });
    const again = await claimOne(s);
    expect(await maySend(s, again, { windowMs: HOUR - 1 })).toBe('go:none');
    await everythingIsDue(s);
    const taken = await claimOne(s, 'r2');
    expect(await maySend(s, taken, { windowMs: HOUR - 1 })).toBe('forgotten');
    await settle(s, taken, 'next', { ended: [ended(taken)] });
    expect(await maySend(s, await claimOne(s), { windowMs: HOUR - 1 })).toBe('go');
  });
});

describe('redrive', () => {
  async function dead(maybe: boolean, orderingKey?: string): Promise<{ s: Engine; id: number }> {
    const s = await engine();
    const [id] = await decide(s, 'k', [orderingKey === undefined ? {} : { orderingKey }]);
    await route(s);
    const c = await claimOne(s);
    await settle(
      s,
      c,
      orderingKey === undefined ? 'next' : 'block',
      orderingKey === undefined
        ? { ended: [ended(c, 'failed', { maybe })] }
        : { trouble: 'failed', headFailed: true, maybe, reason: 'failed', head: head(c, 'failed') },
    );
    await s.rows(`update comanda.effect set created_at = created_at - interval '2 hours'`);
    return { s, id: given(id) };
  }

  test('of what may have been applied counts its key from the decision: looked up first', async () => {
    const { s, id } = await dead(true);
    expect(await ask(s, id, 'redrive')).toBe('redriven');
    expect(await holes(s)).toEqual([]);
    const c = await claimOne(s);
    expect(c.suspect).toBe(true);
    expect(await maySend(s, c, { windowMs: HOUR })).toBe('forgotten');
    expect(await maySend(s, c, { windowMs: 3 * HOUR }), 'inside the lifetime its key protects it').toBe('go');
  });

  test('of what was certainly not applied is sent, as a kind without key after the lifetime', async () => {
    const { s, id } = await dead(false);
    expect(await ask(s, id, 'redrive')).toBe('redriven');
    const c = await claimOne(s);
    expect(c.suspect).toBe(false);
    expect(await maySend(s, c, { windowMs: HOUR })).toBe('go:none');
    await settle(s, c, 'next', { ended: [ended(c)] });
    expect(await state(s, id)).toBe('completed');
    expect(await s.rows('select lane from comanda.lane')).toEqual([]);
  });

  test('can be cancelled again', async () => {
    const { s, id } = await dead(false);
    await ask(s, id, 'redrive');
    expect(await s.call('cancel', { key: 'k', by: 'ada' })).toMatchObject([{ answer: 'requested' }]);
    await sweep(s);
    expect(await state(s, id)).toBe('cancelled');
    expect(await holes(s)).toEqual([]);
  });

  test('of the head of a lane can be cancelled again, while it is off too', async () => {
    const { s, id } = await dead(false, 'a');
    expect(await s.call('cancel', { key: 'k', by: 'ada' })).toMatchObject([{ answer: 'too late' }]);
    await ask(s, id, 'redrive');
    expect(await s.call('cancel', { key: 'k', by: 'ada' })).toMatchObject([{ answer: 'requested' }]);
    await sweep(s);
    expect(await state(s, id)).toBe('cancelled');
  });

  test('twice is once', async () => {
    const { s, id } = await dead(false);
    expect(await ask(s, id, 'redrive')).toBe('redriven');
    expect(await ask(s, id, 'redrive')).toBe('on its way already');
  });

  test('of a skipped effect that may have been applied is refused: its lane has gone on', async () => {
    const { s, id } = await dead(true, 'a');
    expect(await ask(s, id, 'skip')).toBe('skipped');
    expect(await ask(s, id, 'redrive')).toMatch(/^refused: it may have been applied/);
    expect(await holes(s)).toEqual([]);
  });
});

describe('stale', () => {
  const version = async (s: Engine, n: number, more: object = {}, decision: object = {}): Promise<number> =>
    given((await decide(s, `v${n}`, [{ subjectVersion: n, ...more }], { subject: 'item:1', ...decision }))[0]);

  async function old(): Promise<{ s: Engine; c: Claimed }> {
    const s = await engine();
    await version(s, 1);
    await route(s);
    return { s, c: await claimOne(s) };
  }

  test('when a newer version of the subject is pending or done, and asked for', async () => {
    const { s, c } = await old();
    expect(await maySend(s, c, { skipStale: true })).toBe('go');
    await version(s, 2);
    expect(await maySend(s, c, { skipStale: true })).toBe('stale');
    expect(await maySend(s, c, {}), 'kinds that do not ask send every version').toBe('go');
  });

  test('not for what may have been sent: that must be cleared up', async () => {
    const { s, c } = await old();
    await version(s, 2);
    expect(await maySend(s, { ...c, suspect: true }, { skipStale: true })).toBe('go');
  });

  test.each([
    ['another subject', {}, { subject: 'item:2' }],
    ['another kind', { kind: 'sms' }, {}],
    ['another target', { target: 'elsewhere' }, {}],
    ['an older version', { subjectVersion: 0 }, {}],
  ])('not because of %s', async (_name, effect, decision) => {
    const { s, c } = await old();
    await version(s, 2, effect, decision);
    expect(await maySend(s, c, { skipStale: true })).toBe('go');
  });

  test('not because of one that was cancelled', async () => {
    const { s, c } = await old();
    await version(s, 2);
    await route(s);
    expect(await maySend(s, c, { skipStale: true })).toBe('stale');
    await s.call('cancel', { key: 'v2', by: 'ada' });
    await sweep(s);
    expect(await maySend(s, c, { skipStale: true })).toBe('go');
  });

  test('not because of one that still waits: it can be taken back, and the subject would have neither', async () => {
    const { s, c } = await old();
    await version(s, 2, { cancelWindowMs: HOUR });
    expect(await maySend(s, c, { skipStale: true })).toBe('go');
    await nothingWaits(s);
    await sweep(s);
    expect(await maySend(s, c, { skipStale: true })).toBe('stale');
  });

  test('looks at the 200 latest decisions about the subject, not at its whole history', async () => {
    const { s, c } = await old();
    await version(s, 2);
    const more = `insert into comanda.run (key, subject, state) select $1 || i, 'item:1', 'decided' from generate_series(1, $2::int) i`;
    await s.rows(more, ['a', 199]);
    expect(await maySend(s, c, { skipStale: true })).toBe('stale');
    await s.rows(more, ['b', 1]);
    expect(await maySend(s, c, { skipStale: true })).toBe('go');
  });
});

describe('maximum age', () => {
  test('counts from the decision, for what was not sent', async () => {
    const { s, c } = await claimed();
    expect(await maySend(s, c, { maxAgeMs: HOUR })).toBe('go');
    await s.rows(`update comanda.effect set created_at = created_at - interval '61 minutes'`);
    expect(await maySend(s, c, { maxAgeMs: HOUR })).toBe('expired');
    expect(await maySend(s, { ...c, suspect: true }, { maxAgeMs: HOUR })).toBe('go');
  });

  test('counts from when a delayed effect was due', async () => {
    const s = await engine();
    await decide(s, 'k', [{ delayMs: 2 * HOUR }]);
    await s.rows(`update comanda.effect set created_at = created_at - interval '2 hours'`);
    await nothingWaits(s);
    await sweep(s);
    await route(s);
    const c = await claimOne(s);
    expect(await maySend(s, c, { maxAgeMs: HOUR })).toBe('go');
    await s.rows(`update comanda.effect set due_at = due_at - interval '4 hours'`);
    expect(await maySend(s, c, { maxAgeMs: HOUR })).toBe('expired');
  });
});

describe('release', () => {
  test('a delayed effect and one in its cancel window run now', async () => {
    const s = await engine();
    const [delayed, window] = await decide(s, 'k', [
      { name: 'a', delayMs: HOUR },
      { name: 'b', cancelWindowMs: HOUR },
    ]);
    expect(await ask(s, delayed, 'release')).toBe('released');
    expect(await ask(s, window, 'release')).toBe('released');
    await sweep(s);
    await route(s);
    expect(await s.rows('select lane from comanda.lane')).toHaveLength(2);
  });

  test('a head in back-off is due now, under a new fence', async () => {
    const { s, c } = await claimed();
    await settle(s, c, 'retry', { delayMs: HOUR, head: head(c, 'retry') });
    expect(await ask(s, c.effect_id, 'release')).toBe('released');
    const again = await claimOne(s);
    expect(again.fence).toBeGreaterThan(c.fence);
  });

  test('an uncertain try keeps its wait: that can be for a request under way', async () => {
    const { s, c } = await claimed();
    await settle(s, c, 'unsure', { delayMs: HOUR, head: head(c, 'retry') });
    expect(await ask(s, c.effect_id, 'release')).toBe('not waiting: it is on its way');
    expect((await lane(s, c.lane))?.due).toBe('later');
  });

  test('what is not waiting is told so', async () => {
    const { s, c } = await claimed({ orderingKey: 'a' });
    await settle(s, c, 'block', { trouble: 'failed', headFailed: true, reason: 'x', head: head(c, 'failed') });
    expect(await ask(s, c.effect_id, 'release')).toBe('not waiting: it has ended failed');
    const { s: t, c: d } = await claimed();
    await settle(t, d, 'block', { trouble: 'unknown', reason: 'x', head: head(d, 'unknown') });
    expect(await ask(t, d.effect_id, 'release')).toBe('refused: its outcome is unknown; resolve it');
  });
});
