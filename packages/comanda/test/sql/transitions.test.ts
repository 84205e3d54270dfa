import { afterAll, describe, expect, test } from 'vitest';
import { canTransition, EFFECT_STATES, EFFECT_TRANSITIONS, type EffectState } from '../../src/kernel/states.js';
import { type Engine, engine, type Session } from './kit/engine.js';
import {
  ask,
  type Claimed,
  claim,
  decide,
  ended,
  given,
  head,
  holes,
  maySend,
  route,
  settle,
  state,
  sweep,
  turn,
} from './kit/steps.js';

/** An effect in some state, with what its last holder knows. The kind is its own, so that the cases of a test do not meet. */
interface Stage {
  readonly s: Session;
  readonly effect: number;
  readonly key: string;
  readonly kind: string;
  readonly claim: Claimed | undefined;
}

let cases = 0;

async function decided(s: Session, keyed: boolean, more: Record<string, unknown> = {}): Promise<Stage> {
  const n = ++cases;
  const [effect] = await decide(s, `case ${n}`, [
    { kind: `kind ${n}`, ...(keyed ? { orderingKey: `lane ${n}` } : {}), ...more },
  ]);
  return { s, effect: given(effect), key: `case ${n}`, kind: `kind ${n}`, claim: undefined };
}

const due = (x: Stage) =>
  x.s.rows(
    `update comanda.lane set ready_at = clock_timestamp() - interval '1 millisecond' where kind = $1 and ready_at < 'infinity'`,
    [x.kind],
  );

async function claimed(x: Stage): Promise<Stage> {
  await route(x.s);
  await due(x);
  const [taken] = await claim(x.s, { kinds: [x.kind], batch: 1 });
  return { ...x, claim: taken ?? x.claim };
}

const sent = async (s: Session, keyed: boolean): Promise<Stage> => {
  const x = await claimed(await decided(s, keyed));
  expect(await maySend(s, x.claim, { mark: true })).toBe('go');
  return x;
};

async function after(x: Stage, mode: string, more: Record<string, unknown> = {}): Promise<Stage> {
  expect(await settle(x.s, x.claim, mode, more)).toBe('ok');
  return x;
}

const STAGES: Readonly<Record<string, [EffectState, (s: Session) => Promise<Stage>]>> = {
  'waiting for a time': ['waiting', (s) => decided(s, true, { delayMs: 3_600_000 })],
  'waiting for its cancel window': ['waiting', (s) => decided(s, false, { cancelWindowMs: 3_600_000 })],
  arrived: ['pending', (s) => decided(s, true)],
  queued: [
    'pending',
    async (s) => {
      const x = await decided(s, false);
      await route(s);
      return x;
    },
  ],
  'in back-off': ['pending', async (s) => after(await sent(s, true), 'retry', { delayMs: 60_000 })],
  'in back-off, uncertain': ['pending', async (s) => after(await sent(s, true), 'unsure', { delayMs: 60_000 })],
  'parked by a switch': [
    'pending',
    async (s) =>
      after(await claimed(await decided(s, true)), 'block', { reason: 'switch:tenant:none', giveBack: true }),
  ],
  claimed: ['sending', async (s) => claimed(await decided(s, true))],
  'claimed, unkeyed and sent': ['sending', (s) => sent(s, false)],
  'claimed by a relay that died': [
    'sending',
    async (s) => {
      const x = await sent(s, true);
      await due(x);
      return x;
    },
  ],
  'unknown, to be looked up': [
    'unknown',
    async (s) => {
      const x = await sent(s, true);
      return after(x, 'unknown', { delayMs: 60_000, head: head(x.claim, 'unknown') });
    },
  ],
  'unknown, being looked up': ['unknown', async (s) => claimed(await after(await sent(s, false), 'unknown'))],
  'unknown, before a person': [
    'unknown',
    async (s) => after(await sent(s, true), 'block', { trouble: 'unknown', reason: 'ask' }),
  ],
  completed: [
    'completed',
    async (s) => {
      const x = await sent(s, true);
      return after(x, 'next', { ended: [ended(x.claim)] });
    },
  ],
  'failed at the head of its lane': [
    'failed',
    async (s) => {
      const x = await sent(s, true);
      return after(x, 'block', {
        trouble: 'failed',
        headFailed: true,
        reason: 'failed',
        head: head(x.claim, 'failed'),
      });
    },
  ],
  'failed, unkeyed': [
    'failed',
    async (s) => {
      const x = await sent(s, false);
      return after(x, 'next', { ended: [ended(x.claim, 'failed')] });
    },
  ],
  'failed and skipped': [
    'failed',
    async (s) => {
      const x = await sent(s, true);
      await after(x, 'block', { trouble: 'failed', headFailed: true, reason: 'failed', head: head(x.claim, 'failed') });
      expect(await ask(s, x.effect, 'skip')).toBe('skipped');
      return x;
    },
  ],
  cancelled: [
    'cancelled',
    async (s) => {
      const x = await decided(s, false, { delayMs: 1000 });
      await s.call('cancel', { key: x.key });
      return x;
    },
  ],
};

/** Settles under the last fence known; a lane that is not claimed answers `fenced`, an act that cannot be is refused. */
const settles =
  (mode: string, more: (c: Claimed) => Record<string, unknown> = () => ({})) =>
  async (x: Stage) => {
    const c = x.claim ?? {
      lane: `e:${x.effect}`,
      fence: 1,
      pos: 1,
      effect_id: x.effect,
      kind: x.kind,
      target: x.kind,
      attempt: 1,
      suspect: false,
      cancel: false,
      lost: 0,
      looks: 0,
      trouble: null,
    };
    await settle(x.s, c, mode, more(c)).catch((error: { code?: string }) => expect(error.code).toBe('CM009'));
  };

/** Every act of a door or a relay, with the name that the table of transitions has for it. */
const ACTS: Readonly<Record<string, [by: string[], (x: Stage) => Promise<unknown>]>> = {
  route: [[], (x) => route(x.s)],
  'time passes': [[], due],
  claim: [['claim'], claimed],
  'claim with its kind off': [
    [],
    async (x) => {
      await turn(x.s, `kind:${x.kind}`, 'stop');
      await claimed(x);
      await turn(x.s, `kind:${x.kind}`, 'run');
    },
  ],
  // An expired lease is parked with its evidence: pending, and suspect.
  'claim with its target off': [
    ['retry'],
    async (x) => {
      await turn(x.s, `target:${x.kind}`, 'stop');
      await claimed(x);
      await turn(x.s, `target:${x.kind}`, 'run');
    },
  ],
  'may it be sent?': [
    [],
    (x) =>
      maySend(
        x.s,
        x.claim ?? {
          lane: 'x',
          fence: 0,
          effect_id: x.effect,
          attempt: 1,
          pos: 1,
          kind: '',
          target: '',
          suspect: false,
          cancel: false,
          lost: 0,
          looks: 0,
          trouble: null,
        },
      ),
  ],
  'settle: completed': [['settle', 'reconcile'], settles('next', (c) => ({ ended: [ended(c)] }))],
  'settle: failed, lane goes on': [['settle', 'reconcile'], settles('next', (c) => ({ ended: [ended(c, 'failed')] }))],
  'settle: failed, lane stands': [
    ['settle', 'reconcile'],
    settles('block', (c) => ({ trouble: 'failed', headFailed: true, reason: 'failed', head: head(c, 'failed') })),
  ],
  'settle: cancelled': [['cancel'], settles('next', (c) => ({ ended: [ended(c, 'cancelled')] }))],
  'settle: next': [['clean_release'], settles('next')],
  'settle: keep': [[], settles('keep')],
  'settle: retry': [['retry'], settles('retry', () => ({ delayMs: 10_000 }))],
  'settle: released': [['clean_release'], settles('retry', () => ({ giveBack: true }))],
  'settle: unsure': [['retry'], settles('unsure', () => ({ delayMs: 10_000 }))],
  'settle: unknown': [['settle'], settles('unknown', (c) => ({ delayMs: 10_000, head: head(c, 'unknown') }))],
  'settle: absent': [['reconcile', 'clean_release'], settles('absent', (c) => ({ head: head(c, 'absent') }))],
  'settle: ask a person': [
    ['settle'],
    settles('block', (c) => ({ trouble: 'unknown', reason: 'ask', head: head(c, 'unknown') })),
  ],
  'settle: switched off': [
    ['clean_release'],
    settles('block', () => ({ reason: 'switch:tenant:none', giveBack: true })),
  ],
  cancel: [
    ['cancel'],
    async (x) => {
      await x.s.call('cancel', { key: x.key });
      await sweep(x.s);
    },
  ],
  skip: [['skip'], (x) => ask(x.s, x.effect, 'skip')],
  redrive: [['redrive'], (x) => ask(x.s, x.effect, 'redrive')],
  release: [
    ['release'],
    async (x) => {
      await ask(x.s, x.effect, 'release');
      await sweep(x.s);
    },
  ],
  'resolve as completed': [['resolve'], (x) => ask(x.s, x.effect, 'resolve', { as: 'completed' })],
  'resolve as failed': [['resolve'], (x) => ask(x.s, x.effect, 'resolve', { as: 'failed' })],
  'resolve as pending': [['resolve'], (x) => ask(x.s, x.effect, 'resolve', { as: 'pending' })],
  'it is due': [
    ['due'],
    async (x) => {
      await x.s.rows(
        `update comanda.waiting set next_at = clock_timestamp() - interval '1 millisecond' where effect_id = $1`,
        [x.effect],
      );
      await sweep(x.s);
    },
  ],
};

const reached = new Set<string>();

/** Claimed and not sent is pending in the words of the table: who owns it may cancel it, or find its payload invalid. */
function isLegal(from: EffectState, to: EffectState, by: readonly string[]): boolean {
  return (
    from === to ||
    by.some(
      (act) =>
        canTransition(EFFECT_TRANSITIONS, from, to, act) ||
        (from === 'sending' && act === 'cancel' && canTransition(EFFECT_TRANSITIONS, 'pending', to, act)),
    )
  );
}

describe('every act on an effect in every state', () => {
  test.each(Object.entries(STAGES))('%s', async (_, [from, make]) => {
    const s: Engine = await engine();
    const illegal: string[] = [];
    for (const [act, [by, run]] of Object.entries(ACTS)) {
      const x = await make(s);
      expect(await state(s, x.effect), 'the state to begin with').toBe(from);
      await run(x);
      const to = (await state(s, x.effect)) as EffectState;
      reached.add(`${from} → ${to}`);
      if (!isLegal(from, to, by)) illegal.push(`${act}: ${from} → ${to}`);
      expect(await holes(s), `${act} leaves no hole`).toEqual([]);
    }
    expect(illegal).toEqual([]);
  });

  afterAll(() => {
    // The way from pending to failed is validation, which a relay does between claim and settle: sending → failed here.
    const wanted = EFFECT_TRANSITIONS.map(({ from, to }) => `${from} → ${to}`).filter(
      (step) => step !== 'pending → failed',
    );
    expect(
      wanted.filter((step) => !reached.has(step)),
      'legal steps that no act took',
    ).toEqual([]);
    const pairs = EFFECT_STATES.flatMap((from) => EFFECT_STATES.map((to) => `${from} → ${to}`));
    expect([...reached].filter((step) => !pairs.includes(step))).toEqual([]);
  });
});
