const BRAND: unique symbol = Symbol('comanda.unfit');

/** An error that says: this payload can never become this request. The effect fails with it, unsent; every other error of a request source is tried again. */
export function unfit(problem: string): Error {
  return Object.assign(new Error(problem), { code: 'validation', [BRAND]: true });
}

/** Whether the error was made by {@link unfit}. */
export function isUnfit(error: unknown): boolean {
  return error instanceof Error && BRAND in error;
}
