import { describe, expect, it } from 'vitest';
import * as states from './states.js';

const { canTransition, EFFECT_STATES, EFFECT_TRANSITIONS, RUN_STATES, RUN_TRANSITIONS, terminalStates } = states;

describe('states', () => {
  it('every state can be reached and every step is listed once', () => {
    for (const [all, initial, table] of [
      [RUN_STATES, states.RUN_INITIAL_STATES, RUN_TRANSITIONS],
      [EFFECT_STATES, states.EFFECT_INITIAL_STATES, EFFECT_TRANSITIONS],
    ] as const) {
      const reached = new Set<string>(initial);
      for (let size = -1; size !== reached.size; ) {
        size = reached.size;
        for (const step of table) if (reached.has(step.from)) reached.add(step.to);
      }
      expect([...reached].sort()).toEqual([...all].sort());
      expect(new Set(table.map((step) => `${step.from}>${step.to}`)).size).toBe(table.length);
    }
  });

  it('unknown ends only by reconcile or by a person', () => {
    for (const to of EFFECT_STATES) {
      expect(canTransition(EFFECT_TRANSITIONS, 'unknown', to, 'settle')).toBe(false);
    }
    expect(canTransition(EFFECT_TRANSITIONS, 'unknown', 'pending', 'reconcile')).toBe(true);
  });

  it('ended states stay ended', () => {
    expect(terminalStates(EFFECT_STATES, EFFECT_TRANSITIONS)).toEqual(['completed', 'cancelled']);
    expect(terminalStates(RUN_STATES, RUN_TRANSITIONS)).toEqual([
      'denied',
      'rejected',
      'expired',
      'cancelled',
      'completed',
    ]);
    expect(canTransition(RUN_TRANSITIONS, 'failed_terminal', 'processing')).toBe(false);
  });
});
