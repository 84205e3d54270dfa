import { inspect, isDeepStrictEqual } from 'node:util';
import { isComandaError } from '../kernel/errors.js';

/** Throws unless `holds`. */
export function that(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** Throws unless both are deeply equal. */
export function equal(actual: unknown, expected: unknown): void {
  that(isDeepStrictEqual(actual, expected), `expected ${inspect(expected)}, got ${inspect(actual)}`);
}

/** What `work` rejects with; throws when it does not. */
export async function rejection(work: Promise<unknown>): Promise<unknown> {
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in outcome) throw new Error(`expected an error, got ${inspect(outcome.value)}`);
  return outcome.error;
}

/** The code of a ComandaError, or the whole text of anything else. */
export function refusal(error: unknown): string {
  return isComandaError(error) ? error.code : inspect(error);
}
