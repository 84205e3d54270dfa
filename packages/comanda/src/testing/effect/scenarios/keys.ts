import { keyWindowMs } from '../../../relay/key-window.js';
import type { Scenario } from '../scenario.js';
import { APPLIED, HOUR_MS } from './expected.js';

/** Lease, timeout and what the machine takes. */
const MARGIN_MS = 60_000;

export const keys: readonly Scenario[] = [
  {
    name: 'another decision with the same input',
    when: ({ kind }) => kind.idempotency !== 'natural',
    expects: APPLIED,
    run: async (stage) => {
      await stage.life().toEnd();
      await stage.life({ suffix: ':2' }).toEnd();
    },
  },
  {
    name: 'a key with spaces and letters beyond ASCII',
    expects: APPLIED,
    run: async (stage) => {
      await stage.life({ suffix: ' año 100 % «é» 漢' }).toEnd();
    },
  },
  {
    name: 'the next attempt comes as late as its key is trusted',
    when: ({ kind }) => keyWindowMs(kind) !== undefined,
    expects: APPLIED,
    run: async (stage) => {
      stage.goesWrong('silent-after');
      const life = stage.life();
      await life.step({ dies: 'holding' });
      life.wait((keyWindowMs(stage.kind) ?? 0) - MARGIN_MS);
      await life.toEnd();
    },
  },
  {
    name: 'the next attempt comes after its key may be forgotten',
    when: ({ kind }) => keyWindowMs(kind) !== undefined,
    expects: { end: 'applied', personMay: true },
    run: async (stage) => {
      stage.goesWrong('silent-after');
      const life = stage.life();
      await life.step({ dies: 'holding' });
      life.wait((stage.kind.key?.lifetimeMs ?? 0) + HOUR_MS);
      await life.toEnd();
    },
  },
];
