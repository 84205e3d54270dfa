import { spawnNode } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import type { Acceptance, EffectLine, Evidence } from '../src/soak/evidence.js';
import { imbalances, reckon } from '../src/soak/judge.js';
import { judgeMemory } from '../src/soak/memory.js';
import type { SoakResult } from '../src/soak/result.js';

const SECONDS = 12;

describe('the soak', () => {
  it('some seconds of kills, pauses, cuts and restarts: the books balance, and nothing is unattended at any look', async () => {
    const main = new URL('../dist/soak/main.js', import.meta.url);
    const child = spawnNode(main, ['--minutes', String(SECONDS / 60), '--seed', '4', '--rate', '12', '--json']);
    const result = await child.line<SoakResult & { problems: readonly string[] }>(
      (line) => 'problems' in line,
      120_000,
    );
    expect(result.problems, child.output()).toEqual([]);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(result.acceptances).toBeGreaterThan(50);
    expect(result.looks).toBeGreaterThanOrEqual(3);
    expect(Object.values(result.disturbances).reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(4);
  }, 150_000);

  it('the judge finds each thing that can go wrong', () => {
    expect(imbalances(reckon(evidence()))).toEqual([]);
    const first = { kind: 'refund', state: 'completed' };
    const wrong: readonly (readonly [what: string, change: (e: Mutable) => void])[] = [
      ['1 lost', (e) => void e.acceptances.shift()],
      ['1 lost', (e) => void e.diary.push({ event: 'decided', key: 'gone' })],
      ['1 duplicated', (e) => void e.acceptances.push(acceptance('a:refund', 9))],
      ['1 accepted that nobody decided', (e) => void e.acceptances.push(acceptance('rolled:refund', 9))],
      ['1 accepted with another content', (e) => change(e.acceptances, 0, { body: '{"reference":"a:refund","x":1}' })],
      ['1 accepted out of their order', (e) => change(e.acceptances, 1, { n: 9 })],
      ['1 older states accepted after newer ones', (e) => void e.acceptances.push(acceptance('b:shelf', 9, 1))],
      ['1 accepted before they were due', (e) => change(e.effects, 0, { dueAt: 100_000 })],
      ['1 accepted although cancelled', (e) => change(e.effects, 0, { ...first, state: 'cancelled' })],
      ['1 accepted although cancelled', (e) => change(e.effects, 0, { ...first, state: 'failed' })],
      ['1 accepted although cancelled', (e) => void e.diary.push({ event: 'cancelled', key: 'a' })],
      ["1 decisions without the caller's own row", (e) => void e.ownRows.pop()],
      ["1 decisions without the caller's own row", (e) => void e.diary.push({ event: 'rolledBack', key: 'a' })],
      ['1 wrong answers', (e) => void e.diary.push({ event: 'wrong', key: 'a', what: 'made twice' })],
      ['1 still unknown', (e) => change(e.effects, 0, { ...first, state: 'unknown', unknown: true })],
      ['1 unfinished', (e) => change(e.effects, 0, { ...first, state: 'pending' })],
    ];
    for (const [what, alter] of wrong) {
      const altered = evidence();
      alter(altered);
      expect(imbalances(reckon(altered)).join('; '), what).toContain(what);
    }
    const repeatedPut = evidence();
    repeatedPut.acceptances.push(acceptance('c:shelf', 9, 2));
    expect(imbalances(reckon(repeatedPut)), 'the same state once more').toEqual([]);
  });

  it('memory is compared by medians, at a tenth and at the end', () => {
    const samples = Array.from({ length: 100 }, (_, i) => ({ at: i * 10, bytes: i < 50 ? 100 : 150 }));
    const peak = samples.map((sample, i) => (i === 10 ? { ...sample, bytes: 900 } : sample));
    expect(judgeMemory(peak, 1_000)).toEqual({ tenthBytes: 100, endBytes: 150, ratio: 1.5 });
  });
});

interface Mutable extends Evidence {
  readonly acceptances: Acceptance[];
  readonly effects: EffectLine[];
  readonly ownRows: string[];
  readonly diary: Evidence['diary'][number][];
}

/** A refund, and two states of one shelf, done as they should be. */
function evidence(): Mutable {
  return {
    acceptances: [acceptance('a:refund', 1), acceptance('b:shelf', 2, 1), acceptance('c:shelf', 3, 2)],
    calls: 3,
    replays: 0,
    effects: [effect('a:refund'), effect('b:shelf', 1), effect('c:shelf', 2)],
    runs: ['a', 'b', 'c'],
    ownRows: ['a', 'b', 'c'],
    diary: [{ event: 'decided', key: 'a' }],
  };
}

function acceptance(reference: string, n: number, place?: number): Acceptance {
  return { book: 'payments', n, t: 1_000 + n, reference, body: payload(reference, place) };
}

function effect(key: string, place?: number): EffectLine {
  return {
    key,
    kind: key.split(':')[1] ?? '',
    decision: key.split(':')[0] ?? '',
    state: 'completed',
    payload: payload(key, place),
    lane: place === undefined ? null : 'shelf-1',
    dueAt: null,
    unknown: false,
    resolved: false,
  };
}

function payload(reference: string, place?: number): string {
  return JSON.stringify(place === undefined ? { reference } : { reference, n: place });
}

function change<Item>(list: Item[], index: number, by: Partial<Item>): void {
  const item = list[index];
  if (item !== undefined) list[index] = { ...item, ...by };
}
