import type { Scenario, Stage } from '../scenario.js';
import { APPLIED } from './expected.js';

export const PATIENCE_S = 120;

/** Said by the provider, in HTTP. */
export const answers: readonly Scenario[] = [
  {
    name: 'the connection is refused',
    expects: { end: 'applied', certain: true },
    run: async (stage) => {
      await stage.provider.down(true);
      const life = stage.life();
      await life.step();
      await stage.provider.down(false);
      await life.toEnd();
    },
  },
  ...[503, 429].map(
    (status): Scenario => ({
      name: `the provider answers ${status} with Retry-After: ${PATIENCE_S}`,
      expects: { end: 'applied', certain: true },
      run: async (stage) => {
        stage.goesWrong({ status, headers: { 'retry-after': String(PATIENCE_S) } });
        const life = stage.life();
        const began = life.now();
        await life.step();
        const due = life.effect.dueAt;
        if (stage.provider.protocol === 'http' && due !== undefined && due - began < PATIENCE_S * 1_000)
          stage.report(
            'came-back-too-soon',
            `the provider asked for ${PATIENCE_S} s of patience and the next attempt comes after ${((due - began) / 1_000).toFixed(1)} s; return retry({ notSent: true, burnsAttempt: false, pausesTarget: true, afterMs }) with what Retry-After says`,
          );
        await life.toEnd();
      },
    }),
  ),
  {
    name: 'the provider acts and answers 500',
    when: http,
    expects: { end: 'applied', personMay: true },
    run: async (stage) => {
      stage.goesWrong({ status: 500, accepts: true });
      await stage.life().toEnd();
    },
  },
  {
    name: 'the provider answers 409: an earlier request with the key is still at work',
    when: ({ kind, provider }) => provider.protocol === 'http' && kind.key?.conflict === 'in-progress',
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong('silent-after');
      const life = stage.life();
      await life.step({ dies: 'holding' });
      stage.goesWrong({ status: 409, body: '{"error":"in progress"}' });
      await life.toEnd();
    },
  },
  {
    name: 'the provider refuses for good: 400',
    when: http,
    expects: { end: 'refused', certain: true },
    run: async (stage) => {
      stage.provider.plan(({ what }) => (what === 'act' ? { status: 400 } : undefined));
      await stage.life().toEnd();
    },
  },
  {
    name: 'the provider acts and its answer cannot be read',
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong('malformed');
      await stage.life().toEnd();
    },
  },
  {
    name: 'the provider acts and its answer does not end',
    when: http,
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong('endless');
      await stage.life().toEnd();
    },
  },
];

function http({ provider }: Pick<Stage, 'provider'>): boolean {
  return provider.protocol === 'http';
}
