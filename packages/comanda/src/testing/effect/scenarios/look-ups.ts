import type { Fault } from '../../provider/types.js';
import type { Scenario, Stage } from '../scenario.js';
import { PATIENCE_S } from './answers.js';
import { APPLIED } from './expected.js';

const BUSY: Fault = { status: 503, headers: { 'retry-after': String(PATIENCE_S) } };

const HURT: readonly (readonly [string, Fault])[] = [
  ['answers 500', { status: 500 }],
  ['answers 503 with Retry-After', BUSY],
  ['answers 429', { status: 429 }],
  ['resets the connection', 'reset-before'],
  ['does not answer', 'silent-before'],
  ['answers what cannot be read', 'malformed'],
];

/** What reconcile says must be true. A kind with keys gets there when its attempts are used up. */
export const lookUps: readonly Scenario[] = [
  {
    name: 'an act whose answer was lost is looked up',
    when: looksUp,
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong('reset-after', { at: lastAct(stage) });
      await stage.life(oneAttempt(stage)).toEnd();
    },
  },
  {
    name: 'an act that never arrived is looked up',
    when: looksUp,
    expects: { end: 'either' },
    run: async (stage) => {
      stage.goesWrong('reset-before');
      await stage.life(oneAttempt(stage)).toEnd();
    },
  },
  ...HURT.map(
    ([how, fault]): Scenario => ({
      name: `an act that happened is looked up, and the provider ${how}`,
      when: looksUp,
      expects: APPLIED,
      run: async (stage) => {
        stage.goesWrong('reset-after', { at: lastAct(stage), thenLookUp: fault });
        await stage.life(oneAttempt(stage)).toEnd();
      },
    }),
  ),
  {
    name: 'an act that happened is looked up, and the provider refuses the connection',
    when: looksUp,
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong('reset-after', { at: lastAct(stage) });
      const life = stage.life(oneAttempt(stage));
      await life.step();
      await stage.provider.down(true);
      await life.step();
      await stage.provider.down(false);
      await life.toEnd();
    },
  },
  {
    name: 'an act that never arrived is looked up, and the provider answers 500',
    when: looksUp,
    expects: { end: 'either' },
    run: async (stage) => {
      stage.goesWrong('reset-before', { thenLookUp: { status: 500 } });
      await stage.life(oneAttempt(stage)).toEnd();
    },
  },
];

function looksUp({ looksUp }: Pick<Stage, 'looksUp'>): boolean {
  return looksUp;
}

function oneAttempt({ kind }: Stage): { readonly attempts?: number } {
  return kind.idempotency === 'none' ? {} : { attempts: 1 };
}

function lastAct({ baseline }: Stage): number {
  return Math.max(
    baseline.requests.findLastIndex(({ what }) => what === 'act'),
    0,
  );
}
