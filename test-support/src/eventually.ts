import { inspect } from 'node:util';

/** How long and how often to look. */
export interface EventuallyOptions {
  /** Default 10 000 ms. */
  readonly withinMs?: number;
  /** Default 20 ms. */
  readonly everyMs?: number;
  /** What is waited for, for the message: `eventually: <what> did not happen …`. */
  readonly what?: string;
}

/**
 * Calls `look` until it returns something truthy, and returns that. Fails with the last value (or error) seen when the time
 * is over. `look` may throw: an assertion that does not hold yet counts as "not yet".
 */
export async function eventually<T>(look: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<Truthy<T>> {
  const { withinMs = 10_000, everyMs = 20, what = 'the condition' } = options;
  const until = performance.now() + withinMs;
  const called = new Error(`eventually: ${what} did not happen within ${withinMs} ms`); // keeps the caller's stack
  for (;;) {
    const seen = await attempt(look, until, what);
    if ('value' in seen && seen.value) return seen.value as Truthy<T>;
    if (performance.now() >= until) throw tooLate(called, seen);
    await wait(everyMs);
  }
}

export type Truthy<T> = Exclude<T, false | 0 | 0n | '' | null | undefined>;

type Seen<T> = { readonly value: T } | { readonly error: unknown };

async function attempt<T>(look: () => T | Promise<T>, until: number, what: string): Promise<Seen<T>> {
  try {
    // A look that hangs must not hang the test; the last one is given a second more than there is left.
    return {
      value: await withDeadline(Promise.resolve(look()), until - performance.now() + 1000, `a look at ${what}`),
    };
  } catch (error) {
    return { error };
  }
}

function tooLate(called: Error, seen: Seen<unknown>): Error {
  if ('error' in seen) {
    called.message += `; the last look failed: ${seen.error instanceof Error ? seen.error.message : inspect(seen.error)}`;
    called.cause = seen.error;
  } else {
    called.message += `; last seen: ${inspect(seen.value, { depth: 6 })}`;
  }
  return called;
}

/** Waits for `promise`, at most `ms` milliseconds; then fails with `what` in the message. */
export async function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  const late = new Error(`${what} took longer than ${Math.round(ms)} ms`);
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, ms, late);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
