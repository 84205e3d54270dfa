import { type Job, titleOf } from './plan.js';
import { type RunEnd, run } from './run/run.js';
import { isClean, type Verdict } from './run/verdict.js';
import type { World } from './run/world.js';
import { idOf } from './watch/boundary.js';
import type { Polls } from './watch/polls.js';

/** What came of one kill. */
export interface Killed extends Job {
  /** `undefined`: the boundary did not come again, in as many tries. */
  readonly verdict: Verdict | undefined;
  readonly tries: number;
  readonly left: string;
}

/** A boundary that depends on chance (which relay came first, how busy the machine was) may need more than one run to come again. */
const TRIES = 3;

export async function kill(world: World, job: Job, polls: Polls): Promise<Killed> {
  for (let tries = 1; ; tries += 1) {
    const { hasKilled, verdict, left } = await run(world, job, polls, job.aim).catch(broken);
    // A run that was not killed is judged all the same.
    if (hasKilled || !isClean(verdict)) return { ...job, verdict, tries, left };
    if (tries === TRIES) return { ...job, verdict: undefined, tries, left };
  }
}

/** A run that did not come to its end proves nothing, and takes no other down with it: it counts as wrong, with what ended it. */
function broken(error: unknown): Pick<RunEnd, 'hasKilled' | 'verdict' | 'left'> {
  const wrong = [`the run broke off: ${error instanceof Error ? error.stack : String(error)}`];
  return {
    hasKilled: true,
    left: '',
    verdict: { lost: [], duplicated: [], unattended: [], wrong, unknown: 0, reconciled: 0 },
  };
}

export function killTitle(job: Job): string {
  return `${titleOf(job)}: ${job.aim.point} ${idOf(job.aim.boundary)}`;
}
