import { type Entry, keyOf } from './books.js';
import type { EffectLine, OrderLine } from './evidence.js';

/** What was found when the demo was over. */
export interface Evidence {
  /** The providers' books, by target. */
  readonly books: Readonly<Record<string, readonly Entry[]>>;
  readonly effects: readonly EffectLine[];
  readonly orders: readonly OrderLine[];
  /** Orders that the web shop was told to be done. */
  readonly acknowledged: readonly string[];
}

/** What one provider saw. */
export interface Seen {
  readonly calls: number;
  readonly acceptances: number;
  /** Calls with a key that had been accepted before: recognised, and not done again. */
  readonly replays: number;
}

/** Books against decisions, in numbers. */
export interface Reckoning extends Seen {
  readonly orders: number;
  readonly decisions: number;
  readonly effects: number;
  readonly completed: number;
  /** The database says done, and no provider knows of it; or an acknowledged order without a decision. */
  readonly lost: number;
  /** Acceptances beyond the first of an effect. */
  readonly duplicated: number;
  /** Acceptances of what nobody decided. */
  readonly ghosts: number;
  /** Acceptances of something else than what was decided. */
  readonly altered: number;
  /** Acceptances that overtook an earlier one of their lane. */
  readonly overtaken: number;
  /** Orders that say refunded without a decision, or have one without saying so, or were changed twice. */
  readonly torn: number;
  readonly failed: number;
  readonly unfinished: number;
  /** Effects of which it was uncertain for a while whether they had happened. */
  readonly unknown: number;
  /** Those of them of which it is certain now. */
  readonly reconciled: number;
  /** Of the reconciled: found at the provider, not sent again. */
  readonly foundApplied: number;
  readonly byTarget: Readonly<Record<string, Seen>>;
}

/** Counts. The books are the judge: what the database says is only compared with them. */
export function reckon({ books, effects, orders, acknowledged }: Evidence): Reckoning {
  const byTarget = Object.fromEntries(Object.entries(books).map(([target, book]) => [target, seen(book)]));
  const accepted = new Map<string, Entry[]>();
  for (const [target, book] of Object.entries(books)) {
    for (const entry of book.filter(({ event }) => event === 'accepted')) {
      const id = `${target} ${keyOf(entry)}`;
      accepted.set(id, [...(accepted.get(id) ?? []), entry]);
    }
  }
  const decided = new Map(effects.map((effect) => [`${effect.target} ${effect.key}`, effect]));
  const of = (effect: EffectLine): readonly Entry[] => accepted.get(`${effect.target} ${effect.key}`) ?? [];
  const all = [...accepted.entries()];
  const completed = effects.filter(({ state }) => state === 'completed');
  const uncertain = effects.filter(({ unknown }) => unknown);
  const certain = uncertain.filter(({ state }) => ENDED.includes(state));
  const decisionOf = new Map(orders.map(({ order, decision }) => [order, decision]));
  return {
    ...Object.values(byTarget).reduce(plus, { calls: 0, acceptances: 0, replays: 0 }),
    orders: orders.length,
    decisions: new Set([
      ...effects.map(({ decision }) => decision),
      ...orders.flatMap(({ decision }) => decision ?? []),
    ]).size,
    effects: effects.length,
    completed: completed.length,
    lost:
      completed.filter((effect) => of(effect).length === 0).length +
      acknowledged.filter((order) => (decisionOf.get(order) ?? null) === null).length,
    duplicated: all.reduce((sum, [, entries]) => sum + entries.length - 1, 0),
    ghosts: all.filter(([id]) => !decided.has(id)).length,
    altered: all.reduce(
      (sum, [id, entries]) => sum + entries.filter(({ body }) => differs(body, decided.get(id))).length,
      0,
    ),
    overtaken: overtaken(effects.map((effect) => ({ effect, entry: of(effect)[0] }))),
    torn: orders.filter(isTorn).length,
    failed: effects.filter(({ state }) => state === 'failed' || state === 'cancelled').length,
    unfinished: effects.filter(({ state }) => !ENDED.includes(state)).length,
    unknown: uncertain.length,
    reconciled: certain.length,
    foundApplied: certain.filter(({ found }) => found === 'applied').length,
    byTarget,
  };
}

/** What does not balance, in words. Empty: everything that was decided happened once, and nothing else did. */
export function imbalances(
  r: Reckoning & { readonly unattended: number; readonly crashes: number },
): readonly string[] {
  const checks: readonly (readonly [bad: boolean, what: string])[] = [
    [r.lost > 0, `${r.lost} lost`],
    [r.duplicated > 0, `${r.duplicated} duplicated`],
    [r.ghosts > 0, `${r.ghosts} accepted that nobody decided`],
    [r.altered > 0, `${r.altered} accepted with another content than was decided`],
    [r.overtaken > 0, `${r.overtaken} accepted out of their order`],
    [r.torn > 0, `${r.torn} orders whose state and decision differ`],
    [r.decisions !== r.orders, `${r.orders} orders, but ${r.decisions} decisions`],
    [r.failed > 0, `${r.failed} failed`],
    [r.unfinished > 0, `${r.unfinished} unfinished`],
    [r.unknown !== r.reconciled, `${r.unknown - r.reconciled} still unknown`],
    [r.acceptances !== r.completed, `${r.acceptances} acceptances, but ${r.completed} completed effects`],
    [r.unattended > 0, `${r.unattended} unattended`],
    [r.crashes > 0, `${r.crashes} processes ended by themselves`],
    [r.effects === 0, 'nothing was decided'],
  ];
  return checks.flatMap(([bad, what]) => (bad ? [what] : []));
}

const ENDED: readonly string[] = ['completed', 'failed', 'cancelled'];

function seen(book: readonly Entry[]): Seen {
  const count = (event: Entry['event']): number => book.filter((entry) => entry.event === event).length;
  return { calls: count('received'), acceptances: count('accepted'), replays: count('replayed') };
}

function plus(a: Seen, b: Seen): Seen {
  return {
    calls: a.calls + b.calls,
    acceptances: a.acceptances + b.acceptances,
    replays: a.replays + b.replays,
  };
}

function differs(body: string, effect: EffectLine | undefined): boolean {
  return effect !== undefined && effect.payload !== body;
}

function isTorn({ status, version, decision }: OrderLine): boolean {
  return decision === null ? status !== 'received' || version !== 1 : status !== 'refunded' || version !== 2;
}

/** Acceptances of one lane in the order of its places; each that came before its predecessor counts. */
function overtaken(pairs: readonly { readonly effect: EffectLine; readonly entry: Entry | undefined }[]): number {
  const lanes = new Map<string, { readonly place: number; readonly n: number }[]>();
  for (const { effect, entry } of pairs) {
    if (effect.lane === null || effect.place === null || entry === undefined) continue;
    lanes.set(effect.lane, [...(lanes.get(effect.lane) ?? []), { place: effect.place, n: entry.n }]);
  }
  let count = 0;
  for (const lane of lanes.values()) {
    const inOrder = lane.sort((a, b) => a.place - b.place);
    count += inOrder.filter(({ n }, i) => i > 0 && n < (inOrder[i - 1]?.n ?? 0)).length;
  }
  return count;
}
