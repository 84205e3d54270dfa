import { describe, expect, test } from 'vitest';
import { first } from './kit/claimed-lane.js';
import { type Engine, engine, type Session } from './kit/engine.js';
import { claim, claimOne, decide, everythingIsDue, head, holes, lane, maySend, route, settle } from './kit/steps.js';

interface Beat {
  readonly target: string;
  readonly wait_ms: number;
  readonly breaker: string;
  readonly probe_by: string | null;
  readonly slots: number | null;
  readonly rate: number | null;
  readonly share_ms: number | null;
}

const report = (s: Engine, more: object) =>
  s.call<{ breaker: string; wait_ms: number }>('target_report', { relay: 'r1', target: 'mail', ...more });
const broke = (s: Engine, more: object = {}) => report(s, { broke: true, reason: 'http_401', openMs: 60_000, ...more });
const probe = async (s: Session, relay = 'r1', leaseMs = 60_000) =>
  (await s.call<{ granted: boolean }>('target_probe', { relay, target: 'mail', leaseMs }))[0]?.granted;
const person = (s: Engine, more: object) =>
  s.call<Record<string, unknown>>('target_set', { target: 'mail', by: 'ada', reason: 'test', ...more });
const row = (s: Engine) => s.rows<Record<string, unknown>>(`select * from comanda.target where target = 'mail'`);
/** The wait before the next probe is over. */
const probeIsDue = (s: Engine) =>
  s.rows(
    `update comanda.target set breaker_until = clock_timestamp() - interval '1 millisecond' where breaker <> 'closed'`,
  );
const beat = async (s: Engine, relay: string, more: object = {}, all: object = {}): Promise<Beat | undefined> =>
  (await s.call<Beat>('targets_beat', { relay, targets: [{ target: 'mail', kinds: ['mail'], ...more }], ...all }))[0];
/** Decides one effect per key and puts it on a lane. */
const lanes = async (s: Engine, ...keys: string[]) => {
  for (const key of keys) await decide(s, key, [{ orderingKey: key }]);
  await route(s);
};

describe('a closed target', () => {
  test.each([
    ['paused', { pauseMs: 60_000 }],
    ['broken', { broke: true, reason: 'http_401', openMs: 60_000 }],
  ])(
    '%s: nothing of it is leased, lanes of other targets behind it are, and all come back by themselves',
    async (_, what) => {
      const s = await engine();
      await lanes(s, 'a', 'b', 'c');
      await decide(s, 'other', [{ target: 'elsewhere' }]);
      await route(s);
      await report(s, what);
      expect(await claim(s, { lanes: 1 })).toEqual([]);
      expect((await claim(s, { lanes: 1 })).map((c) => c.target)).toEqual(['elsewhere']);
      expect(await lane(s, 'k:a')).toMatchObject({ due: 'later', parked_by: null, owner: null, attempt: 0 });
      expect(await lane(s, 'k:c')).toMatchObject({ due: 'later' });
      expect(await holes(s)).toEqual([]);
      await decide(s, 'new', [{ orderingKey: 'new' }]);
      expect(await route(s, { kinds: ['mail'] })).toEqual([]);
      await s.rows('delete from comanda.target');
      await everythingIsDue(s);
      expect((await claim(s)).map((c) => c.lane)).toEqual(expect.arrayContaining(['k:a', 'k:b', 'k:c', 'k:new']));
    },
  );

  test('an expired lease keeps its evidence when it is deferred', async () => {
    const s = await engine();
    await lanes(s, 'a');
    const c = await claimOne(s);
    await everythingIsDue(s);
    await report(s, { pauseMs: 60_000 });
    expect(await claim(s, { relay: 'r2' })).toEqual([]);
    expect(await lane(s, 'k:a')).toMatchObject({ suspect_to: c.pos, inflight_to: null, owner: null, lost: 1 });
    await s.rows('delete from comanda.target');
    await everythingIsDue(s);
    expect(await claimOne(s, 'r2')).toMatchObject({ suspect: true, lost: 1 });
  });

  test('what is claimed already is told to wait, and gives its attempt back', async () => {
    const s = await engine();
    await lanes(s, 'a');
    const c = await claimOne(s);
    await report(s, { pauseMs: 60_000 });
    const answer = await maySend(s, c, { mark: true });
    expect(answer).toMatch(/^wait:\d+$/);
    expect(Number(answer.slice(5))).toBeGreaterThan(55_000);
    expect(Number(answer.slice(5))).toBeLessThanOrEqual(60_000);
    expect(await s.rows('select from comanda.attempt')).toEqual([]);
    await settle(s, c, 'retry', { giveBack: true, delayMs: 0 });
    expect(await lane(s, 'k:a')).toMatchObject({ attempt: 0, suspect_to: null });
  });

  test('pauses only grow, up to an hour', async () => {
    const s = await engine();
    const left = async (pauseMs: number) => Number((await report(s, { pauseMs }))[0]?.wait_ms);
    expect(await left(60_000)).toBeGreaterThan(55_000);
    expect(await left(1_000)).toBeGreaterThan(55_000);
    const most = await left(1e12);
    expect(most).toBeGreaterThan(3_590_000);
    expect(most).toBeLessThanOrEqual(3_600_000);
  });
});

describe('the breaker', () => {
  test('opens once for many reports of the same moment, and longer for each probe that fails', async () => {
    const s = await engine();
    const wait = async (more: object = {}) =>
      Math.ceil(Number((await broke(s, { openMs: 10_000, openMaxMs: 35_000, ...more }))[0]?.wait_ms) / 10_000);
    expect(await wait()).toBe(1);
    expect(await wait()).toBe(1);
    for (const expected of [2, 4, 4]) {
      await probeIsDue(s);
      expect(await probe(s)).toBe(true);
      expect(await wait()).toBeGreaterThan(0);
      expect((await row(s))[0]).toMatchObject({ breaker: 'half_open' });
      expect(await wait({ probe: true })).toBe(expected);
    }
    expect((await row(s))[0]).toMatchObject({ breaker: 'open', openings: 4, breaker_reason: 'http_401' });
  });

  test('is probed by one relay at a time, with one lane, and its success closes it', async () => {
    const s = await engine();
    await lanes(s, 'a', 'b');
    await broke(s);
    expect(await probe(s, 'r1')).toBe(false);
    await probeIsDue(s);
    const other = await s.session();
    const granted = await Promise.all([probe(s, 'r1'), probe(other, 'r2')]);
    expect(granted.toSorted()).toEqual([false, true]);
    const [us, them] = granted[0] === true ? ['r1', 'r2'] : ['r2', 'r1'];
    expect(await claim(s, { relay: them })).toEqual([]);
    await everythingIsDue(s);
    const [c, ...more] = await claim(s, { relay: us });
    expect(more).toEqual([]);
    expect(await maySend(s, c, {}, 'none', us)).toBe('go');
    expect(await maySend(s, c, {}, 'none', them)).toMatch(/^wait:/);
    expect(await report(s, { relay: them, ok: true })).toMatchObject([{ breaker: 'half_open' }]);
    expect(await report(s, { relay: us, ok: true })).toMatchObject([{ breaker: 'closed', wait_ms: 0 }]);
    await everythingIsDue(s);
    expect((await claim(s, { relay: them })).map((x) => x.lane)).toContain(c?.lane === 'k:a' ? 'k:b' : 'k:a');
  });

  test('a probe whose relay fell silent passes on', async () => {
    const s = await engine();
    await lanes(s, 'a');
    await broke(s);
    await probeIsDue(s);
    expect(await probe(s, 'r1')).toBe(true);
    const c = first(await claim(s, { relay: 'r1' }));
    await probeIsDue(s);
    expect(await maySend(s, c)).toBe('wait:0');
    expect(await probe(s, 'r2')).toBe(true);
    expect(await probe(s, 'r1')).toBe(false);
    expect(await report(s, { ok: true })).toMatchObject([{ breaker: 'half_open' }]);
  });

  test('the target that is paused is not probed', async () => {
    const s = await engine();
    await broke(s);
    await report(s, { pauseMs: 60_000 });
    await probeIsDue(s);
    expect(await probe(s)).toBe(false);
  });

  test('stands before people until it closes', async () => {
    const s = await engine();
    const shown = () =>
      s.rows(`select what, target, reason, since is not null as dated from comanda.attention where target = 'mail'`);
    await broke(s);
    expect(await shown()).toEqual([{ what: 'breaker open', target: 'mail', reason: 'http_401', dated: true }]);
    expect(await s.rows(`select value from comanda.gauges where name = 'targets_open'`)).toEqual([{ value: 1 }]);
    await person(s, { close: true });
    expect(await shown()).toEqual([]);
    await report(s, { pauseMs: 200_000 });
    expect(await shown()).toEqual([]);
    await report(s, { pauseMs: 400_000, reason: 'http_429' });
    expect(await shown()).toEqual([{ what: 'target paused', target: 'mail', reason: 'http_429', dated: true }]);
  });
});

describe('limits are shares', () => {
  const limits = { ratePerSecond: 50, concurrency: 5 };

  test('that never add up to more than the limit, and even out when a relay joins', async () => {
    const s = await engine();
    expect(await beat(s, 'r1', { ...limits, held: 1 })).toMatchObject({ rate: 50, slots: 5, share_ms: 2500 });
    expect(await beat(s, 'r2', { ...limits, held: 1 })).toMatchObject({ rate: 0, slots: 0 });
    expect(await beat(s, 'r1', { ...limits, held: 5, slots: 5 })).toMatchObject({ rate: 25 });
    // What the first may still be using is not given to the second.
    expect(await beat(s, 'r2', { ...limits, held: 1 })).toMatchObject({ rate: 25, slots: 0 });
    const given = Number((await beat(s, 'r1', { ...limits, held: 3, slots: 2 }))?.slots);
    expect(given === 2 || given === 3).toBe(true);
    expect((await beat(s, 'r2', { ...limits, held: 1 }))?.slots).toBe(5 - given);
    expect(
      await s.rows(`select label, value from comanda.gauges where name like 'target_%_shared' order by name`),
    ).toEqual([
      { label: 'mail', value: 50 },
      { label: 'mail', value: 5 },
    ]);
  });

  test('a relay without work keeps a small part, one that stops gives its share back, one that dies loses it', async () => {
    const s = await engine();
    await beat(s, 'idle', limits);
    await beat(s, 'busy', { ...limits, held: 1 });
    expect((await beat(s, 'idle', limits))?.rate).toBeCloseTo(50 / 11);
    expect((await beat(s, 'busy', { ...limits, held: 1 }))?.rate).toBeCloseTo(500 / 11);
    await beat(s, 'idle', {}, { stopping: true });
    expect(await beat(s, 'busy', { ...limits, held: 1 })).toMatchObject({ rate: 50 });
    await s.rows(
      `update comanda.target set shares = jsonb_set(shares, '{0,until}', to_jsonb(extract(epoch from clock_timestamp()) * 1000 - 1))`,
    );
    expect(await beat(s, 'next', { ...limits, held: 1 })).toMatchObject({ rate: 50, slots: 5 });
  });

  test('work that waits makes a relay want its full part', async () => {
    const s = await engine();
    await beat(s, 'busy', { ...limits, held: 1 });
    await decide(s, 'x', [{}]);
    await beat(s, 'idle', limits);
    expect((await beat(s, 'busy', { ...limits, held: 1 }))?.rate).toBe(25);
  });

  test('a person sets other limits than the code, and gives them back to it', async () => {
    const s = await engine();
    await beat(s, 'r1', limits);
    expect(await person(s, { ratePerSecond: 5 })).toMatchObject([
      { rate_per_second: 5, concurrency: 5, set_by: 'ada' },
    ]);
    expect(await beat(s, 'r1', limits)).toMatchObject({ rate: 5, slots: 5 });
    await person(s, { ratePerSecond: null, concurrency: null });
    expect(await beat(s, 'r1', limits)).toMatchObject({ rate: null, slots: null, share_ms: null });
    await person(s, { limitsOfCode: true });
    expect(await beat(s, 'r1', limits)).toMatchObject({ rate: 50, slots: 5 });
    expect(await s.rows(`select act, subject from comanda.audit where actor = 'ada'`)).toHaveLength(3);
  });

  test('limits that no relay declares any longer are gone, and so is the row', async () => {
    const s = await engine();
    await beat(s, 'r1', limits);
    await beat(s, 'r2', {});
    expect(await beat(s, 'r2', {})).toMatchObject({ rate: expect.any(Number) });
    await beat(s, 'r1', {}, { stopping: true });
    expect(await beat(s, 'r2', {})).toBeUndefined();
    expect(await row(s)).toEqual([]);
  });

  test('a row that an open transaction holds delays nobody for long', async () => {
    const s = await engine();
    await beat(s, 'r1', limits);
    const other = await s.session();
    await other.rows('begin');
    await other.rows(`select from comanda.target where target = 'mail' for update`);
    expect(await beat(s, 'r2', limits)).toMatchObject({ rate: 0, slots: 0, share_ms: 0 });
    await decide(s, 'x', [{}]);
    await route(s);
    expect(await maySend(s, await claimOne(s))).toBe('go');
    await other.rows('rollback');
  });
});

test('a target that an open transaction is making keeps nobody from the shares of the others', async () => {
  const s = await engine();
  const other = await s.session();
  await other.rows('begin');
  await other.call('target_set', { target: 'new', by: 'ada', reason: 'test', concurrency: 2 });
  await s.rows(`set statement_timeout = '5s'`);
  const rows = await s.call<{ target: string; slots: number | null }>('targets_beat', {
    relay: 'r1',
    targets: [
      { target: 'mail', kinds: ['mail'], concurrency: 4 },
      { target: 'new', kinds: ['new'], concurrency: 4 },
    ],
  });
  expect(rows.map(({ target, slots }) => ({ target, slots }))).toEqual([{ target: 'mail', slots: 4 }]);
  await other.rows('rollback');
});

describe('a named person', () => {
  test('pauses and resumes', async () => {
    const s = await engine();
    await lanes(s, 'a');
    expect(await person(s, { pauseMs: 86_400_000 })).toMatchObject([{ target: 'mail', breaker: 'closed' }]);
    expect((await row(s))[0]).toMatchObject({ pause_reason: 'test (ada)' });
    expect(await claim(s)).toEqual([]);
    await person(s, { resume: true });
    await everythingIsDue(s);
    expect(await claim(s)).toHaveLength(1);
  });

  test.each([
    ['CM013', { by: '' }],
    ['CM013', { reason: '' }],
    ['CM009', {}],
    ['CM009', { target: '', close: true }],
    ['CM009', { pauseMs: 1, resume: true }],
    ['CM009', { pauseMs: 'soon' }],
    ['CM009', { pauseMs: 31 * 86_400_000 }],
    ['CM009', { ratePerSecond: 0 }],
    ['CM009', { concurrency: 1.5 }],
    ['CM009', { concurrency: '3' }],
    ['CM009', { ratePerSecond: 1, limitsOfCode: true }],
  ])('is refused with %s for %j', async (code, more) => {
    const s = await engine();
    const request = { target: 'mail', by: 'ada', reason: 'test', ...more };
    expect(await s.sqlstate('select * from comanda.target_set($1::text::jsonb)', [JSON.stringify(request)])).toBe(code);
    expect(await row(s)).toEqual([]);
  });

  test.each([
    ['target_report', { relay: 'r1', target: 'mail' }],
    ['target_report', { relay: 'r1', target: 'mail', ok: true, broke: true }],
    ['target_report', { target: 'mail', ok: true }],
    ['target_probe', { relay: 'r1', target: 'mail' }],
    ['targets_beat', { targets: [] }],
  ])('%s refuses %j', async (name, request) => {
    const s = await engine();
    expect(await s.sqlstate(`select * from comanda.${name}($1::text::jsonb)`, [JSON.stringify(request)])).toBe('CM009');
  });
});

test('the evidence of a try stays when its target is closed afterwards', async () => {
  const s = await engine();
  await lanes(s, 'a');
  const c = await claimOne(s);
  await settle(s, c, 'retry', { giveBack: true, delayMs: 0, head: head(c, 'retry') });
  await broke(s);
  expect(await claim(s)).toEqual([]);
  expect(await lane(s, 'k:a')).toMatchObject({ attempt: 0, suspect_to: null, due: 'later' });
  expect(await s.rows('select outcome from comanda.attempt')).toEqual([{ outcome: 'retry' }]);
});
