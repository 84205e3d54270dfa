import type { Scenario, Stage } from '../scenario.js';
import { APPLIED, HOUR_MS } from './expected.js';

export const leases: readonly Scenario[] = [
  {
    name: 'its signal fires before the handler has sent anything',
    expects: APPLIED,
    run: async (stage) => {
      const life = stage.life();
      await life.step({ stops: 'before' });
      await life.toEnd();
    },
  },
  {
    name: 'the lease is lost while the provider works',
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong('silent-before');
      const life = stage.life();
      await life.step({ stops: 'holding' });
      stage.provider.release();
      await life.toEnd();
    },
  },
  {
    name: 'two workers at once: the first one stood still and its lease ended',
    expects: APPLIED,
    run: async (stage) => {
      // To a provider without keys an earlier request that arrives later is another act, and nobody can prevent it; with an answer under way it must hold.
      stage.goesWrong(stage.kind.idempotency === 'key' ? 'silent-before' : 'silent-after');
      const life = stage.life();
      await life.step({ sleeps: 'holding' });
      await life.toEnd();
      stage.provider.release();
      await life.over();
    },
  },
  {
    name: 'the clock of the next process is an hour ahead',
    expects: APPLIED,
    run: (stage) => withWrongClock(stage, HOUR_MS),
  },
  {
    name: 'the clock of the next process is an hour behind',
    expects: APPLIED,
    run: (stage) => withWrongClock(stage, -HOUR_MS),
  },
];

async function withWrongClock(stage: Stage, clockOffMs: number): Promise<void> {
  stage.goesWrong('reset-before');
  const life = stage.life();
  await life.step();
  // A look-up may come first.
  for (let claims = 0; claims < 3 && life.effect.dueAt !== undefined; claims += 1) await life.step({ clockOffMs });
  await life.toEnd();
}
