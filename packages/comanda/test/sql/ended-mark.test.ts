import { eventually } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { type Engine, engine } from './kit/engine.js';
import { claim, decide, ended, given, holes, route, settle, sweep } from './kit/steps.js';

const mark = async (s: Engine) =>
  (await s.row<{ effect_id: number }>('select effect_id from comanda.ended_mark')).effect_id;

/** Executes everything that has arrived. */
async function complete(s: Engine): Promise<void> {
  await route(s);
  for (const c of await claim(s)) await settle(s, c, 'next', { ended: [ended(c)] });
}

/** Sweeps until the mark is there: other transactions of the cluster, in any database, can hold it up for a moment. */
const reaches = (s: Engine, effect: number | undefined) =>
  eventually(
    async () => {
      await sweep(s);
      return (await mark(s)) === given(effect);
    },
    { what: `the mark at ${effect}` },
  );

/** Passes of housekeeping: one draws how far the mark may go, one who must be over before, one moves it. */
async function passes(s: Engine, n = 5): Promise<void> {
  for (let i = 0; i < n; i += 1) await sweep(s);
}

describe('P2 in a long history: the mark below which every effect has ended', () => {
  test('follows what has ended, and stops at what has not', async () => {
    const s = await engine();
    const first = await decide(s, 'a', [{ name: '1' }, { name: '2' }]);
    await complete(s);
    const [waits] = await decide(s, 'b', [{ delayMs: 60_000 }]);
    const later = await decide(s, 'c', [{}]);
    await complete(s);
    await reaches(s, first[1]);
    await passes(s);
    expect(await mark(s)).toBeLessThan(given(waits));
    await s.call('cancel', { key: 'b', by: 'ada' });
    await reaches(s, later[0]);
  });

  test('waits for a transaction that has drawn a number below it and is still open', async () => {
    const s = await engine();
    const slow = await s.session();
    await slow.rows('begin');
    await slow.call('decide', { key: 'slow', effects: [{ kind: 'mail' }] });
    const [fast] = await decide(s, 'fast', [{}]);
    await complete(s);
    await passes(s);
    expect(await mark(s)).toBe(0);
    await slow.rows('commit');
    // Lost by hand: it must be found, although what was decided after it has ended.
    await s.rows('delete from comanda.effect_arrival');
    await passes(s);
    expect(await mark(s)).toBeLessThan(given(fast));
    expect(await holes(s)).toEqual(['effect is nowhere']);
  });

  test('waits for a transaction that nothing else has overtaken', async () => {
    const s = await engine();
    const slow = await s.session();
    await slow.rows('begin');
    await slow.call('decide', { key: 'slow', effects: [{ kind: 'mail' }] });
    await passes(s, 6);
    await slow.rows('commit');
    await s.rows('delete from comanda.effect_arrival');
    await passes(s, 6);
    expect(await holes(s)).toEqual(['effect is nowhere']);
  });

  test('does not wait for ever for numbers of another cluster', async () => {
    const s = await engine();
    await s.rows(`update comanda.ended_mark set candidate = 1, candidate_xid = '99999999999'`);
    const ids = await decide(s, 'a', [{}]);
    await complete(s);
    await reaches(s, ids[0]);
  });

  test('lets `unattended` read only what is above it', async () => {
    const s = await engine();
    await s.rows(
      `select comanda.decide(jsonb_build_object('key', 'k' || i, 'effects', '[{"kind":"mail"}]'::jsonb)) from generate_series(1, 2000) i`,
    );
    await s.rows(
      `insert into comanda.outcome (effect_id, fence, state, settled_by, attempts) select id, 1, 'completed', 'test', 1 from comanda.effect`,
    );
    await s.rows('delete from comanda.effect_arrival');
    await s.rows('analyze comanda.effect');
    await reaches(s, 2000);
    const plan = await s.rows<{ 'QUERY PLAN': string }>(
      'explain (analyze, costs off, timing off) select * from comanda.unattended',
    );
    const read = plan.map((row) => row['QUERY PLAN']).filter((line) => /on effect e\b.*rows=/.test(line));
    expect(read.join('\n')).toMatch(/rows=0(\.00)? loops/);
    expect(read.join('\n')).not.toMatch(/rows=2000/);
  });
});
