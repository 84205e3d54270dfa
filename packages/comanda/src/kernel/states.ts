/** States of a run, the row of a decision in the ledger. */
export const RUN_STATES = [
  'processing',
  'decided',
  'awaiting_human',
  'denied',
  'approved',
  'rejected',
  'expired',
  'cancelled',
  'completed',
  'failed_retryable',
  'failed_terminal',
] as const;
export type RunState = (typeof RUN_STATES)[number];

/** States of an effect, an intended external act. */
export const EFFECT_STATES = ['waiting', 'pending', 'sending', 'completed', 'failed', 'unknown', 'cancelled'] as const;
export type EffectState = (typeof EFFECT_STATES)[number];

/** One legal step and the acts that can take it. */
export interface Transition<State extends string> {
  readonly from: State;
  readonly to: State;
  readonly by: readonly string[];
}

/** States in which a decision can be born: `claim` starts `processing`, decide() the other three. */
export const RUN_INITIAL_STATES: readonly RunState[] = ['processing', 'decided', 'awaiting_human', 'denied'];
export const EFFECT_INITIAL_STATES: readonly EffectState[] = ['waiting', 'pending'];

/** Every legal step of a run. Terminal runs are never restarted; a correction is a new key that supersedes the old one. */
export const RUN_TRANSITIONS: readonly Transition<RunState>[] = [
  { from: 'processing', to: 'decided', by: ['decide'] },
  { from: 'processing', to: 'awaiting_human', by: ['propose'] },
  { from: 'processing', to: 'denied', by: ['policy', 'switch'] },
  { from: 'processing', to: 'completed', by: ['settle'] },
  { from: 'processing', to: 'failed_retryable', by: ['settle'] },
  { from: 'processing', to: 'failed_terminal', by: ['settle'] },
  // An expired lease: somebody else claims the run under a new fence.
  { from: 'processing', to: 'processing', by: ['claim'] },
  { from: 'failed_retryable', to: 'processing', by: ['claim'] },
  { from: 'awaiting_human', to: 'approved', by: ['vote'] },
  { from: 'awaiting_human', to: 'rejected', by: ['vote'] },
  { from: 'awaiting_human', to: 'expired', by: ['sweep'] },
  { from: 'awaiting_human', to: 'cancelled', by: ['cancel'] },
  { from: 'decided', to: 'completed', by: ['effects'] },
  { from: 'decided', to: 'failed_terminal', by: ['effects'] },
  { from: 'decided', to: 'cancelled', by: ['cancel'] },
  { from: 'approved', to: 'completed', by: ['effects'] },
  { from: 'approved', to: 'failed_terminal', by: ['effects'] },
  { from: 'approved', to: 'cancelled', by: ['cancel'] },
  // A named redrive of the effect that had failed.
  { from: 'failed_terminal', to: 'completed', by: ['redrive'] },
];

/** Every legal step of an effect. */
export const EFFECT_TRANSITIONS: readonly Transition<EffectState>[] = [
  { from: 'waiting', to: 'pending', by: ['due', 'release', 'approval'] },
  { from: 'waiting', to: 'cancelled', by: ['cancel', 'skip'] },
  { from: 'pending', to: 'sending', by: ['claim'] },
  { from: 'pending', to: 'cancelled', by: ['cancel', 'skip', 'stale', 'expired'] },
  { from: 'pending', to: 'failed', by: ['validation'] },
  { from: 'sending', to: 'completed', by: ['settle'] },
  { from: 'sending', to: 'failed', by: ['settle'] },
  { from: 'sending', to: 'unknown', by: ['settle'] },
  { from: 'sending', to: 'pending', by: ['retry', 'clean_release'] },
  { from: 'unknown', to: 'completed', by: ['reconcile', 'resolve'] },
  { from: 'unknown', to: 'pending', by: ['reconcile', 'resolve'] },
  { from: 'unknown', to: 'failed', by: ['reconcile', 'resolve'] },
  { from: 'failed', to: 'pending', by: ['redrive'] },
];

/** Whether the table has a step between the two states, by the given act if one is named. */
export function canTransition<State extends string>(
  table: readonly Transition<State>[],
  from: State,
  to: State,
  by?: string,
): boolean {
  return table.some((step) => step.from === from && step.to === to && (by === undefined || step.by.includes(by)));
}

/** States from which no step leads on. */
export function terminalStates<State extends string>(
  states: readonly State[],
  table: readonly Transition<State>[],
): readonly State[] {
  return states.filter((state) => !table.some((step) => step.from === state));
}
