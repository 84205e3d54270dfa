import type { Outcome } from '../ports/outcome.js';

/**
 * What an attempt says about its target, whatever it says about its effect.
 *
 * - `alive`: it took the request and answered about this effect;
 * - `patience`: it asks for a pause; `here`: something of this process is broken, others may go on;
 * - `refuses`: it does not let us in at all; `down`: no connection, no answer, or its own error;
 * - `nothing`: our own doing (stopped, too late), or an answer that fits neither.
 */
export type Lesson = 'alive' | 'patience' | 'here' | 'refuses' | 'down' | 'nothing';

/** Ends that the target has nothing to do with. */
const OURS: ReadonlySet<unknown> = new Set(['request_not_made', 'send_by', 'turn_over', 'no_outcome']);

/** Ends of effects that never reached their target. */
const UNSENT: ReadonlySet<unknown> = new Set(['address_refused', 'message_refused', 'validation']);

/** @param stopped the relay or the lease ended the attempt */
export function lessonOf(outcome: Outcome, stopped: boolean): Lesson {
  if (outcome.outcome === 'completed') return 'alive';
  if (outcome.outcome === 'failed') return UNSENT.has(outcome.errorClass) ? 'nothing' : 'alive';
  if (outcome.outcome === 'retry') {
    if (outcome.breaksTarget === true) return 'refuses';
    if (outcome.pausesTarget === 'here') return 'here';
    if (outcome.pausesTarget === true) return 'patience';
    if (outcome.burnsAttempt === false) return 'nothing';
  }
  if (stopped || OURS.has(outcome.errorClass)) return 'nothing';
  if (outcome.status !== undefined) return outcome.status >= 500 ? 'down' : 'nothing';
  // A handler that only says `retry()` waits for something of its own.
  return outcome.errorClass === undefined ? 'nothing' : 'down';
}
