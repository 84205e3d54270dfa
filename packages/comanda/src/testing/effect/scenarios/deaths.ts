import type { Fault } from '../../provider/types.js';
import type { Scenario } from '../scenario.js';
import { APPLIED } from './expected.js';

export const deaths: readonly Scenario[] = [
  {
    name: 'the process is killed before its handler runs',
    expects: APPLIED,
    run: async (stage) => {
      const life = stage.life();
      await life.step({ dies: 'before' });
      await life.toEnd();
    },
  },
];

/** Dies, or hears nothing, at a request. */
export function atRequest(index: number, where: string, what: 'act' | 'look-up'): readonly Scenario[] {
  const dies = (name: string, fault: Fault): Scenario => ({
    name: `${name}${where}`,
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong(fault, { at: index });
      const life = stage.life();
      await life.step({ dies: 'holding' });
      await life.toEnd();
    },
  });
  const once = (name: string, fault: Fault): Scenario => ({
    name: `${name}${where}`,
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong(fault, { at: index });
      await stage.life().toEnd();
    },
  });
  const late: Scenario = {
    name: `the answer comes after the timeout${where}`,
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong('silent-after', { at: index });
      const life = stage.life();
      await life.step();
      stage.provider.release();
      await Promise.race(life.ignoredSignal.map(({ ended }) => ended).concat(Promise.resolve()));
      await life.toEnd();
    },
  };
  const before = [
    dies(`the process is killed while its request is under way, and it never arrives`, 'silent-before'),
    once(`the connection is reset before the provider acts`, 'reset-before'),
    once(`no answer comes until the timeout, and the provider did nothing`, 'silent-before'),
  ];
  if (what === 'look-up') return before;
  return [
    ...before,
    dies(`the process is killed after the provider acted, before it read the answer`, 'silent-after'),
    once(`the connection is reset after the provider acted`, 'reset-after'),
    late,
  ];
}
