import type { Acceptance, EffectLine, Evidence } from './evidence.js';

/** Books against decisions, in numbers. */
export interface Reckoning {
  readonly decisions: number;
  readonly effects: number;
  readonly completed: number;
  readonly cancelled: number;
  /** Dead letters by the word of a person. */
  readonly buried: number;
  readonly calls: number;
  readonly acceptances: number;
  readonly replays: number;
  /** Done, says the database, and no provider knows of it; or told to be decided, and not there. */
  readonly lost: number;
  /** Acceptances beyond the first, where repeating is not harmless. */
  readonly duplicated: number;
  /** The same state put once more: harmless by the nature of a PUT. */
  readonly repeatedPuts: number;
  /** Acceptances of what nobody decided, rolled-back decisions among them. */
  readonly ghosts: number;
  readonly altered: number;
  /** Acceptances that came before an earlier one of their lane. */
  readonly overtaken: number;
  /** Acceptances of an older state after a newer one. */
  readonly overwritten: number;
  /** Accepted before it was due. */
  readonly early: number;
  /** Accepted, although cancelled or buried. */
  readonly undead: number;
  /** A caller's row without its decision, or the reverse; a rolled-back one that exists. */
  readonly torn: number;
  /** What callers were answered and must never be, e.g. that a repeated decision was new. */
  readonly wrongAnswers: number;
  readonly unknown: number;
  /** Of the unknown: nobody knows to this day. */
  readonly unresolved: number;
  readonly resolvedByPerson: number;
  readonly unfinished: number;
  readonly repeats: number;
  readonly conflicts: number;
  readonly rolledBack: number;
}

const NATURAL = 'shelf';
/** The clocks of two processes on one machine, and the length of a timer. */
const CLOCK_MS = 20;

/** Counts. The books are the judge: what the database says is only compared with them. */
export function reckon({ acceptances, calls, replays, effects, runs, ownRows, diary }: Evidence): Reckoning {
  const decided = new Map(effects.map((effect) => [effect.key, effect]));
  const accepted = grouped(acceptances, ({ reference }) => reference);
  const of = ({ key }: EffectLine): readonly Acceptance[] => accepted.get(key) ?? [];
  const inState = (state: string): readonly EffectLine[] => effects.filter((effect) => effect.state === state);
  const told = (event: string): readonly string[] => diary.flatMap((line) => (line.event === event ? [line.key] : []));
  const ledger = new Set(runs);
  const own = new Set(ownRows);
  const extra = (natural: boolean): number =>
    [...accepted].reduce((sum, [reference, list]) => {
      const kind = decided.get(reference)?.kind;
      return (kind === NATURAL) === natural ? sum + list.length - 1 : sum;
    }, 0);
  const count = <Item>(list: readonly Item[], fits: (item: Item) => boolean): number => list.filter(fits).length;
  const exactlyCancelled = new Set(told('cancelled'));
  return {
    decisions: runs.length,
    effects: effects.length,
    completed: inState('completed').length,
    cancelled: inState('cancelled').length,
    buried: inState('failed').length,
    calls,
    acceptances: acceptances.length,
    replays,
    lost:
      count(inState('completed'), (effect) => of(effect).length === 0) +
      count(told('decided'), (key) => !ledger.has(key)),
    duplicated: extra(false),
    repeatedPuts: extra(true),
    ghosts: count([...accepted.keys()], (reference) => !decided.has(reference)),
    altered: count(acceptances, ({ reference, body }) => (decided.get(reference)?.payload ?? body) !== body),
    overtaken: overtaken(effects, (effect) => of(effect)[0]),
    overwritten: overwritten(acceptances, decided),
    early: count(effects, (effect) => (of(effect)[0]?.t ?? Number.POSITIVE_INFINITY) < (effect.dueAt ?? 0) - CLOCK_MS),
    undead: count(
      effects,
      (effect) =>
        (effect.state === 'cancelled' || effect.state === 'failed' || exactlyCancelled.has(effect.decision)) &&
        of(effect).length > 0,
    ),
    torn:
      count(runs, (key) => !own.has(key)) +
      count(ownRows, (key) => !ledger.has(key)) +
      count(told('rolledBack'), (key) => own.has(key)),
    wrongAnswers: told('wrong').length,
    unknown: count(effects, ({ unknown }) => unknown),
    unresolved: inState('unknown').length,
    resolvedByPerson: count(effects, ({ resolved }) => resolved),
    unfinished: count(effects, ({ state }) => !['completed', 'cancelled', 'failed'].includes(state)),
    repeats: told('repeated').length,
    conflicts: told('conflict').length,
    rolledBack: told('rolledBack').length,
  };
}

/** What does not balance, in words. */
export function imbalances(r: Reckoning): readonly string[] {
  const checks: readonly (readonly [bad: boolean, what: string])[] = [
    [r.lost > 0, `${r.lost} lost`],
    [r.duplicated > 0, `${r.duplicated} duplicated`],
    [r.ghosts > 0, `${r.ghosts} accepted that nobody decided`],
    [r.altered > 0, `${r.altered} accepted with another content than was decided`],
    [r.overtaken > 0, `${r.overtaken} accepted out of their order`],
    [r.overwritten > 0, `${r.overwritten} older states accepted after newer ones`],
    [r.early > 0, `${r.early} accepted before they were due`],
    [r.undead > 0, `${r.undead} accepted although cancelled or given up`],
    [r.torn > 0, `${r.torn} decisions without the caller's own row, or the reverse`],
    [r.wrongAnswers > 0, `${r.wrongAnswers} wrong answers to callers`],
    [r.unresolved > 0, `${r.unresolved} still unknown`],
    [r.unfinished > 0, `${r.unfinished} unfinished`],
    [r.effects === 0, 'nothing was decided'],
  ];
  return checks.flatMap(([bad, what]) => (bad ? [what] : []));
}

/** First acceptances of each lane in the order of commits; each that came before its predecessor counts. */
function overtaken(effects: readonly EffectLine[], first: (effect: EffectLine) => Acceptance | undefined): number {
  let count = 0;
  const laned = effects.filter(({ lane }) => lane !== null);
  for (const lane of grouped(laned, ({ lane }) => lane ?? '').values()) {
    const inOrder = lane.flatMap((effect) => {
      const entry = first(effect);
      return entry === undefined ? [] : [{ place: placeOf(effect.payload), n: entry.n }];
    });
    inOrder.sort((a, b) => a.place - b.place);
    count += inOrder.filter(({ n }, i) => i > 0 && n < (inOrder[i - 1]?.n ?? 0)).length;
  }
  return count;
}

function overwritten(acceptances: readonly Acceptance[], decided: ReadonlyMap<string, EffectLine>): number {
  const newest = new Map<string, number>();
  let count = 0;
  for (const { reference, body } of acceptances) {
    const effect = decided.get(reference);
    if (effect?.kind !== NATURAL || effect.lane === null) continue;
    const place = placeOf(body);
    const before = newest.get(effect.lane) ?? 0;
    if (place < before) count += 1;
    newest.set(effect.lane, Math.max(before, place));
  }
  return count;
}

function placeOf(payload: string): number {
  return Number((JSON.parse(payload) as { readonly n?: unknown }).n);
}

function grouped<Item>(list: readonly Item[], by: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of list) {
    const group = groups.get(by(item));
    if (group === undefined) groups.set(by(item), [item]);
    else group.push(item);
  }
  return groups;
}
