import type { Completed, Evidence, Failed, ReconcileResult, Retry, Unknown } from '../ports/outcome.js';

/** The effect happened. */
export function completed(evidence: Evidence = {}): Completed {
  return { ...evidence, outcome: 'completed' };
}

/** The effect may be tried again. Unless `notSent` is true it is treated as possibly applied. */
export function retry(options: Evidence & Partial<Omit<Retry, 'outcome'>> = {}): Retry {
  return { notSent: false, ...options, outcome: 'retry' };
}

/** The effect can never succeed as it is. */
export function failed(evidence: Evidence = {}): Failed {
  return { ...evidence, outcome: 'failed' };
}

/** The effect may have happened: reconcile it or ask a person. */
export function unknown(evidence: Evidence = {}): Unknown {
  return { ...evidence, outcome: 'unknown' };
}

/** The look-up found the effect at the provider. */
export function applied(evidence: Evidence = {}): ReconcileResult {
  return { ...evidence, found: 'applied' };
}

/** The look-up is certain that the provider does not have the effect. */
export function absent(evidence: Evidence = {}): ReconcileResult {
  return { ...evidence, found: 'absent' };
}

/** The look-up could not be made, or its answer is not certain. */
export function cannotTell(evidence: Evidence = {}): ReconcileResult {
  return { ...evidence, found: 'cannotTell' };
}

const NOT_SENT = Symbol.for('comanda.notSent');

/**
 * Marks an error thrown by `perform` as raised before anything can have reached the provider, so that it is an ordinary retry even for non-idempotent kinds.
 * Usage: `throw notSent(error)`.
 */
export function notSent(error: unknown): Error {
  const marked = error instanceof Error ? error : new Error(String(error));
  Object.defineProperty(marked, NOT_SENT, { value: true });
  return marked;
}

/** Whether an error carries the mark of {@link notSent}. */
export function isNotSent(error: unknown): boolean {
  return error instanceof Error && NOT_SENT in error;
}
