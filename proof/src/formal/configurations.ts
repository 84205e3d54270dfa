import type { Configuration } from './configuration.js';
import { BUILT } from './configurations-built.js';
import { IMPOSSIBLE } from './configurations-impossible.js';
import { MUTANTS } from './configurations-mutants.js';

/** Everything that is checked, in the order of the report. */
export const CONFIGURATIONS: readonly Configuration[] = [...BUILT, ...MUTANTS, ...IMPOSSIBLE];
