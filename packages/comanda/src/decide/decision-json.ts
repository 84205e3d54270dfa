import { comandaError, isComandaError } from '../kernel/errors.js';
import { toJsonText } from '../kernel/json-text.js';
import { DECISIONS_PER_CALL_MAX } from '../kernel/limits.js';
import { uncheckedRawJson } from '../kernel/raw-json-value.js';
import type { Decision, EffectIntent } from '../ports/intent.js';

/**
 * The JSON text of a decision as the SQL doors take it. A payload is serialised once and never parsed again on its way to the target.
 *
 * @throws ComandaError COMANDA_INVALID_PAYLOAD with the path inside the payload, COMANDA_INVALID_DECISION with the path inside the decision
 */
export function decisionJson(decision: Decision): string {
  return shapeJson(plain(decision));
}

/** The JSON text of many decisions. */
export function decisionsJson(decisions: readonly Decision[]): string {
  if (decisions.length > DECISIONS_PER_CALL_MAX) {
    throw comandaError('COMANDA_INVALID_DECISION', {
      path: '$',
      reason: `has ${decisions.length} decisions, more than ${DECISIONS_PER_CALL_MAX}`,
    });
  }
  return shapeJson(decisions.map(plain));
}

// What is no object or no array is passed on as it is: the database says what is wrong with it.
function plain(decision: Decision): unknown {
  return Array.isArray(decision?.effects) ? { ...decision, effects: decision.effects.map(plainEffect) } : decision;
}

function plainEffect(effect: EffectIntent, index: number): unknown {
  if (typeof effect !== 'object' || effect === null) return effect;
  const { payload, dueAt } = effect;
  if (dueAt instanceof Date && Number.isNaN(dueAt.getTime())) {
    throw comandaError('COMANDA_INVALID_DECISION', { path: `$.effects[${index}].dueAt`, reason: 'is an invalid Date' });
  }
  return payload === undefined ? effect : { ...effect, payload: uncheckedRawJson(payloadJson(payload, effect)) };
}

function payloadJson(payload: unknown, effect: EffectIntent): string {
  try {
    return toJsonText(payload);
  } catch (error) {
    if (!isComandaError(error, 'COMANDA_INVALID_PAYLOAD')) throw error;
    throw comandaError(
      'COMANDA_INVALID_PAYLOAD',
      { ...error.details, effect: effect.name ?? effect.kind },
      { cause: error.cause },
    );
  }
}

function shapeJson(shape: unknown): string {
  try {
    return toJsonText(shape);
  } catch (error) {
    throw isComandaError(error, 'COMANDA_INVALID_PAYLOAD')
      ? comandaError('COMANDA_INVALID_DECISION', error.details)
      : error;
  }
}
