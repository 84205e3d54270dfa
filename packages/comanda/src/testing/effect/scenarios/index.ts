import type { Baseline, Scenario } from '../scenario.js';
import { answers } from './answers.js';
import { atRequest, deaths } from './deaths.js';
import { keys } from './keys.js';
import { leases } from './leases.js';
import { lookUps } from './look-ups.js';

/** The first of all: the others only make sense when this one holds. */
export const NOTHING_GOES_WRONG = 'nothing goes wrong';

/** Everything that can happen to an effect whose handler makes these requests. */
export function scenariosFor(baseline: Baseline): readonly Scenario[] {
  const each = baseline.requests.flatMap((request, index) => atRequest(index, whereOf(baseline, index), request.what));
  return [...deaths, ...each, ...leases, ...answers, ...keys, ...lookUps];
}

function whereOf({ requests }: Baseline, index: number): string {
  const request = requests[index];
  return requests.length === 1 || request === undefined
    ? ''
    : ` (request ${index + 1} of ${requests.length}: ${request.method} ${request.path.split('?')[0]})`;
}
