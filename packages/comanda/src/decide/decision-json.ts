import { toJsonText } from '../kernel/json-text.js';
import type { Decision, EffectIntent } from '../ports/intent.js';

/** The JSON text of a decision as the SQL doors take it. The payload is serialised once and never parsed again on its way to the target. */
export function decisionJson(decision: Decision): string {
  return toJsonText(plain(decision));
}

/** The JSON text of many decisions. */
export function decisionsJson(decisions: readonly Decision[]): string {
  return toJsonText(decisions.map(plain));
}

function plain(decision: Decision): unknown {
  return { ...decision, effects: decision.effects.map(plainEffect) };
}

function plainEffect(effect: EffectIntent): unknown {
  return { ...effect, dueAt: effect.dueAt instanceof Date ? effect.dueAt.toISOString() : effect.dueAt };
}
