import type { Killed } from '../kill.js';
import type { Recorded } from '../plan.js';

/** What a run of kills amounts to. */
export interface Figures {
  readonly boundaries: number;
  readonly kills: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly unattended: number;
  readonly unknown: number;
  readonly reconciled: number;
  /** Out of order, altered, or torn apart from the caller's own state. */
  readonly wrong: number;
  /** Aimed at, and not come again in several runs: what depends on the moment, e.g. a renewal in a run that was slow when it was recorded. */
  readonly unreached: number;
  /** Exchanges, by name, that were aimed at and at a side of which nobody was killed anywhere. */
  readonly uncovered: readonly string[];
}

export function figuresOf(recorded: readonly Pick<Recorded, 'boundaries'>[], killed: readonly Killed[]): Figures {
  const verdicts = killed.flatMap(({ verdict }) => verdict ?? []);
  const sum = (count: (verdict: (typeof verdicts)[number]) => number): number =>
    verdicts.reduce((total, verdict) => total + count(verdict), 0);
  return {
    boundaries: recorded.reduce((total, { boundaries }) => total + boundaries.length, 0),
    kills: verdicts.length,
    lost: sum(({ lost }) => lost.length),
    duplicated: sum(({ duplicated }) => duplicated.length),
    unattended: sum(({ unattended }) => unattended.length),
    unknown: sum(({ unknown }) => unknown),
    reconciled: sum(({ reconciled }) => reconciled),
    wrong: sum(({ wrong }) => wrong.length),
    unreached: killed.length - verdicts.length,
    uncovered: uncovered(killed),
  };
}

function uncovered(killed: readonly Killed[]): readonly string[] {
  const sideOf = ({ aim, kind }: Killed): string => `${aim.point} ${aim.boundary.name} (${kind})`;
  const reached = new Set(killed.filter(({ verdict }) => verdict !== undefined).map(sideOf));
  return [...new Set(killed.map(sideOf))].filter((side) => !reached.has(side));
}

const UNREACHED_SHARE = 0.1;

/**
 * Nothing lost, nothing twice, nothing unattended, every unknown cleared up; hardly a boundary that was only aimed at, and for each kind no exchange
 * that was killed at none of its occurrences.
 */
export function isProven(figures: Figures, isFull: boolean): boolean {
  const { kills, lost, duplicated, unattended, unknown, reconciled, wrong, unreached, uncovered } = figures;
  return (
    kills > 0 &&
    lost + duplicated + unattended + wrong === 0 &&
    unknown === reconciled &&
    unreached <= UNREACHED_SHARE * (kills + unreached) &&
    (uncovered.length === 0 || !isFull)
  );
}
