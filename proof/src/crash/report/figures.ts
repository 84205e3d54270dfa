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
  /** Aimed at, and not come again in several runs. */
  readonly unreached: number;
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
  };
}

/**
 * Nothing lost, nothing twice, nothing unattended, every unknown cleared up, and hardly a boundary that was only aimed at.
 *
 * @param unreachedShare of the kills, that may have found their boundary not come again
 */
export function isProven(figures: Figures, unreachedShare: number): boolean {
  const { kills, lost, duplicated, unattended, unknown, reconciled, wrong, unreached } = figures;
  return (
    kills > 0 &&
    lost + duplicated + unattended + wrong === 0 &&
    unknown === reconciled &&
    unreached <= unreachedShare * (kills + unreached)
  );
}
