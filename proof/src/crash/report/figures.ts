import type { Killed } from '../kill.js';
import { type Job, jobsOf, type Recorded, titleOf } from '../plan.js';

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
  /** Scenes in which nobody was killed; and exchanges, by name and kind, at a side of which nobody was killed in any of them. */
  readonly uncovered: readonly string[];
}

export function figuresOf(recorded: readonly Recorded[], killed: readonly Killed[]): Figures {
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
    uncovered: uncovered(recorded, killed),
  };
}

function uncovered(recorded: readonly Recorded[], killed: readonly Killed[]): readonly string[] {
  const sideOf = ({ aim, kind }: Job): string => `${aim.point} ${aim.boundary.name} (${kind})`;
  const reached = killed.filter(({ verdict }) => verdict !== undefined);
  const sides = new Set(reached.map(sideOf));
  const scenes = new Set(reached.map(titleOf));
  return [
    ...recorded.map(titleOf).filter((scene) => !scenes.has(scene)),
    ...[...new Set(jobsOf(recorded).map(sideOf))].filter((side) => !sides.has(side)),
  ];
}

/** Whether every kill of the recording was tried, and no exchange and no scene was left out. */
export function isWhole(figures: Figures, recorded: readonly Recorded[]): boolean {
  return figures.kills + figures.unreached === jobsOf(recorded).length && figures.uncovered.length === 0;
}

const UNREACHED_SHARE = 0.1;

/**
 * Nothing lost, nothing twice, nothing unattended, every unknown cleared up; hardly a boundary that was only aimed at, and none of what was due left undone.
 *
 * @param due kills that were to be tried
 */
export function isProven(figures: Figures, due: number): boolean {
  const { kills, lost, duplicated, unattended, unknown, reconciled, wrong, unreached } = figures;
  return (
    kills > 0 &&
    lost + duplicated + unattended + wrong === 0 &&
    unknown === reconciled &&
    unreached <= UNREACHED_SHARE * (kills + unreached) &&
    kills + unreached >= due
  );
}
