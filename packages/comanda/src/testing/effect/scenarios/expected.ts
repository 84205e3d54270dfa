import type { Expectation } from '../scenario.js';

/** Whatever went wrong: in the end it is done, once. */
export const APPLIED: Expectation = { end: 'applied' };

export const HOUR_MS = 3_600_000;
