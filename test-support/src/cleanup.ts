import { onTestFailed, onTestFinished } from 'vitest';

/** Runs `fn` after the current test, also when it failed. Outside of a test (`beforeAll`, a script) it does nothing: `false`. */
export function afterThisTest(fn: () => void | Promise<void>): boolean {
  return registered(() => onTestFinished(async () => fn()));
}

/** Runs `fn` if the current test fails. */
export function ifThisTestFails(fn: () => void): boolean {
  return registered(() => onTestFailed(fn));
}

function registered(register: () => void): boolean {
  try {
    register();
    return true;
  } catch {
    return false; // not inside a test
  }
}
