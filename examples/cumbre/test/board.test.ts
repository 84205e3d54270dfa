import { describe, expect, it } from 'vitest';
import { type BoardState, board } from '../src/show/board.js';
import type { Kill } from '../src/show/killer.js';
import { report } from '../src/show/report.js';
import type { Result } from '../src/show/result.js';
import { fit, styleFor, wrap } from '../src/show/style.js';
import { tick, tickTitle } from '../src/show/ticker.js';

const kill = (at: number): Kill => ({
  at,
  victims: ['relay-a', 'relay-b'],
  when: 'accepted',
  target: 'warehouse',
  key: 'inventory:ORD-9999:CF-ESP-1000',
  accepted: [],
  notAccepted: [],
});

const n = 1_234_567;
const large: BoardState = {
  ms: 3_599_000,
  phase: 'draining',
  openMs: 3_600_000,
  snapshot: {
    kinds: ['issue_refund', 'inventory_sync', 'crm_note', 'refund_mail'].map((kind) => ({
      kind,
      pending: 99_999,
      sending: 64,
      unknown: 9_999,
      failed: 9_999,
      completed: n,
    })),
    decisions: n,
    oldestMs: 3_599_000,
  },
  accepted: { payments: n, warehouse: n, crm: n, mail: n },
  replays: n,
  rates: Array.from({ length: 60 }, (_, i) => i),
  shop: { orders: n, deliveries: n, twice: 99_999, atOnce: 99_999 },
  parts: ['order-triage', 'relay-a', 'relay-b'].map((name) => ({ name, up: false, kills: 99 })),
  kills: Array.from({ length: 99 }, (_, i) => kill(i * 37_000)),
};

const plain = styleFor({ isTTY: false }, {});
const coloured = styleFor({ isTTY: true }, { LANG: 'C.UTF-8' });
const visible = (line: string): number => [...line.replaceAll(/\u001b\[\d+m/g, '')].length;

describe('the board', () => {
  it.each([
    ['plain', plain],
    ['coloured', coloured],
  ])('fits 80 columns and 24 rows with large numbers (%s)', (_, style) => {
    const lines = board(large, style);
    expect(Math.max(...lines.map(visible))).toBeLessThan(80);
    expect(lines.length).toBeLessThan(24);
  });

  it('keeps its height, however few kills there are', () => {
    expect(board({ ...large, kills: [] }, plain)).toHaveLength(board(large, plain).length);
  });

  it('has a form of one line a second', () => {
    expect(tick(large).length).toBeLessThan(80);
    expect(tickTitle().length).toBe(tick(large).length);
  });

  it('is without colours where they are not wanted, and without line drawing where it cannot be shown', () => {
    const dull = [{ NO_COLOR: '1' }, { TERM: 'dumb' }].map((env) => styleFor({ isTTY: true }, env));
    for (const style of dull) expect(board(large, style).join('')).not.toContain('\u001b');
    expect(board(large, styleFor({ isTTY: false }, { LC_ALL: 'C', LANG: 'en_US.UTF-8' })).join('')).toMatch(
      /^[\x20-\x7e\u00a0]*$/,
    );
  });
});

describe('the report', () => {
  const seen = { calls: n, acceptances: n, replays: n };
  const result: Result = {
    ...{ seed: 4_294_967_295, deliveries: n, kills: 99, unattended: 99, crashes: n, balanced: true, problems: [] },
    ...{ orders: 99_999, decisions: 99_999, effects: n, completed: n, lost: 99, duplicated: 99, ghosts: 99 },
    ...{ altered: n, overtaken: 9, torn: n, failed: n, unfinished: n, unknown: n, reconciled: n, foundApplied: n },
    ...seen,
    byTarget: { payments: seen, warehouse: seen, crm: seen, mail: seen },
  };

  it.each([result, { ...result, balanced: false, problems: ['9 lost'] }])('fits 80 columns', (one) => {
    expect(Math.max(...report(one, large.kills, coloured).map(visible))).toBeLessThan(80);
  });

  it('claims nothing that is not so', () => {
    const good = report(result, large.kills, plain).join(' ');
    expect(good).toContain('It balances');
    const bad = report({ ...result, balanced: false, problems: ['9 lost'] }, large.kills, plain).join(' ');
    expect(bad).toMatch(/It does not balance: +9 lost/);
    expect(bad).not.toContain('It balances');
    expect(bad).not.toContain('recognised by their key');
  });
});

describe('lines', () => {
  it('are cut by what can be seen', () => {
    expect(fit('\u001b[31mabc\u001b[0mdef', 4)).toBe('\u001b[31mabc\u001b[0md');
  });

  it('are broken between words', () => {
    expect(wrap('one two three four', 9)).toEqual(['one two', 'three', 'four']);
  });
});
