import { describe, expect, it } from 'vitest';
import type { Entry } from '../src/show/books.js';
import type { EffectLine, OrderLine } from '../src/show/evidence.js';
import { type Evidence, imbalances, reckon } from '../src/show/reckoning.js';

/** A book from `event key` lines; `@ref` stands for a request without a key that carries a reference. */
function book(...lines: readonly string[]): readonly Entry[] {
  return lines.map((line, i) => {
    const [event = '', key = '', body = payloadOf(key)] = line.split(' ');
    return {
      n: i + 1,
      t: 0,
      event: event as Entry['event'],
      request: i + 1,
      key: key.startsWith('@') ? null : key,
      method: 'POST',
      path: '/',
      body,
      lane: null,
      fence: null,
      client: null,
    };
  });
}

function payloadOf(key: string): string {
  return key.startsWith('@') ? JSON.stringify({ reference: key.slice(1) }) : '{}';
}

function effect(key: string, change: Partial<EffectLine> = {}): EffectLine {
  const mail = change.target === 'mail';
  return {
    key,
    kind: 'issue_refund',
    target: 'payments',
    state: 'completed',
    reason: null,
    decision: `refund:${key}`,
    payload: payloadOf(mail ? `@${key}` : key),
    unknown: false,
    found: null,
    lane: null,
    place: null,
    ...change,
  };
}

const refunded = (order: string): OrderLine => ({ order, status: 'refunded', version: 2, decision: `refund:${order}` });

/** One order with a refund and a mail, both done once; then what a case changes. */
function evidence(change: Partial<Evidence> = {}): Evidence {
  return {
    books: { payments: book('received a', 'accepted a'), mail: book('received @b', 'accepted @b') },
    effects: [effect('a', { decision: 'refund:1' }), effect('b', { target: 'mail', decision: 'refund:1' })],
    orders: [refunded('1')],
    acknowledged: ['1'],
    ...change,
  };
}

const problemsOf = (change: Partial<Evidence>): readonly string[] =>
  imbalances({ ...reckon(evidence(change)), unattended: 0, crashes: 0 });

describe('the reckoning', () => {
  it('balances when each decided effect was accepted once', () => {
    const result = reckon(evidence());
    expect(result).toMatchObject({ orders: 1, decisions: 1, effects: 2, calls: 2, acceptances: 2, completed: 2 });
    expect(imbalances({ ...result, unattended: 0, crashes: 0 })).toEqual([]);
  });

  it('does not take a repeated call that was recognised for a second effect', () => {
    const payments = book('received a', 'accepted a', 'received a', 'replayed a');
    const result = reckon(evidence({ books: { ...evidence().books, payments } }));
    expect(result).toMatchObject({ calls: 3, acceptances: 2, replays: 1, duplicated: 0 });
    expect(imbalances({ ...result, unattended: 0, crashes: 0 })).toEqual([]);
  });

  it('finds an effect that the database calls completed and no provider knows', () => {
    const books = { ...evidence().books, payments: book('received a', 'rejected a') };
    expect(reckon(evidence({ books })).lost).toBe(1);
    expect(problemsOf({ books })).toContain('1 lost');
  });

  it('finds an acknowledged order that nobody decided', () => {
    expect(reckon(evidence({ acknowledged: ['1', '2'] })).lost).toBe(1);
  });

  it('finds a second acceptance, with and without a key', () => {
    const payments = book('accepted a', 'accepted a', 'accepted a');
    const mail = book('accepted @b', 'accepted @b');
    expect(reckon(evidence({ books: { payments, mail } })).duplicated).toBe(3);
    expect(problemsOf({ books: { payments, mail } })).toContain('3 duplicated');
  });

  it('finds an acceptance without a decision', () => {
    const books = { ...evidence().books, payments: book('accepted a', 'accepted ghost') };
    expect(reckon(evidence({ books })).ghosts).toBe(1);
    expect(problemsOf({ books })).toContain('1 accepted that nobody decided');
  });

  it('does not take the acceptance of another provider for the right one', () => {
    const books = { payments: book(), mail: book('accepted @b', 'accepted a') };
    expect(reckon(evidence({ books }))).toMatchObject({ lost: 1, ghosts: 1 });
  });

  it('finds an acceptance of something else than was decided', () => {
    const books = { ...evidence().books, payments: book('accepted a {"amount":1}') };
    expect(reckon(evidence({ books })).altered).toBe(1);
  });

  it('finds an acceptance that overtook its lane', () => {
    const lane = (key: string, place: number): EffectLine => effect(key, { lane: 'sku:X', place });
    const books = { payments: book('accepted a', 'accepted c', 'accepted b'), mail: book() };
    const effects = [lane('a', 1), lane('b', 2), lane('c', 3)];
    expect(reckon(evidence({ books, effects })).overtaken).toBe(1);
    expect(problemsOf({ books, effects })).toContain('1 accepted out of their order');
  });

  it('finds an order whose state and decision differ', () => {
    const orders = [
      { ...refunded('1'), decision: null },
      { ...refunded('2'), status: 'received' },
      { ...refunded('3'), version: 3 },
    ];
    expect(reckon(evidence({ orders })).torn).toBe(3);
  });

  it('balances only when every unknown effect was reconciled', () => {
    const open = [
      effect('a', { decision: 'refund:1' }),
      effect('b', { target: 'mail', state: 'unknown', unknown: true, decision: 'refund:1' }),
    ];
    expect(reckon(evidence({ effects: open }))).toMatchObject({ unknown: 1, reconciled: 0, unfinished: 1 });
    expect(problemsOf({ effects: open })).toContain('1 still unknown');
    const found = [
      effect('a', { decision: 'refund:1' }),
      effect('b', { target: 'mail', unknown: true, found: 'applied', decision: 'refund:1' }),
    ];
    expect(reckon(evidence({ effects: found }))).toMatchObject({ unknown: 1, reconciled: 1, foundApplied: 1 });
    expect(problemsOf({ effects: found })).toEqual([]);
  });

  it('does not balance when something failed, is unattended or ended by itself, or when nothing was decided', () => {
    expect(problemsOf({ effects: [effect('a', { state: 'failed' })] })).toContain('1 failed');
    expect(imbalances({ ...reckon(evidence()), unattended: 1, crashes: 2 })).toEqual([
      '1 unattended',
      '2 processes ended by themselves',
    ]);
    expect(problemsOf({ books: {}, effects: [], orders: [], acknowledged: [] })).toEqual(['nothing was decided']);
  });
});
