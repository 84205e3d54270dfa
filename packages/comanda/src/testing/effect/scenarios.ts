import { keyWindowMs } from '../../relay/key-window.js';
import type { Fault } from '../provider/types.js';
import type { Baseline, Scenario, Stage } from './scenario.js';

const HOUR_MS = 3_600_000;
const PATIENCE_S = 120;
const APPLIED = { end: 'applied' } as const;
const BUSY: Fault = { status: 503, headers: { 'retry-after': String(PATIENCE_S) } };

/** The first of all: the others only make sense when this one holds. */
export const NOTHING_GOES_WRONG = 'nothing goes wrong';

/** Everything that can happen to an effect whose handler makes these requests. */
export function scenariosFor(baseline: Baseline): readonly Scenario[] {
  const each = baseline.requests.flatMap((request, index) => atRequest(index, whereOf(baseline, index), request.what));
  return [...deaths, ...each, ...leases, ...answers, ...keys, ...lookUps];
}

function whereOf({ requests }: Baseline, index: number): string {
  const request = requests[index];
  return requests.length === 1 || request === undefined
    ? ''
    : ` (request ${index + 1} of ${requests.length}: ${request.method} ${request.path.split('?')[0]})`;
}

/** Dies, or hears nothing, at a request. */
function atRequest(index: number, where: string, what: 'act' | 'look-up'): readonly Scenario[] {
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

const deaths: readonly Scenario[] = [
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

const leases: readonly Scenario[] = [
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

/** Said by the provider, in HTTP. */
const answers: readonly Scenario[] = [
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

const keys: readonly Scenario[] = [
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
/** Lease, timeout and what the machine takes. */
const MARGIN_MS = 60_000;

const HURT: readonly (readonly [string, Fault])[] = [
  ['answers 500', { status: 500 }],
  ['answers 503 with Retry-After', BUSY],
  ['answers 429', { status: 429 }],
  ['resets the connection', 'reset-before'],
  ['does not answer', 'silent-before'],
  ['answers what cannot be read', 'malformed'],
];

/** What reconcile says must be true. A kind with keys gets there when its attempts are used up. */
const lookUps: readonly Scenario[] = [
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

function http({ provider }: Pick<Stage, 'provider'>): boolean {
  return provider.protocol === 'http';
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
