import fc from 'fast-check';
import { given } from '../sql/kit/steps.js';
import type { World } from './database.js';
import { type Choice, committed, decide, type Open, repeat } from './decisions.js';
import { check } from './invariants.js';
import { accept, type Model, newModel } from './model.js';
import { adopt, ask, cancel, copy, sweep, turn } from './people.js';
import { claim, type Held, type Relay, renew, route } from './relay.js';
import { MODES, RELAYS, SCOPES } from './terms.js';
import { answer, giveBack, OUTCOMES, send, step } from './work.js';

/**
 * One command, as plain data: `[what, number, number, number]`. Numbers pick among what there is at that moment, so that each list of commands can run,
 * a shortened one too, and a list that found something is committed as it was printed.
 */
export type Command = readonly [name: keyof typeof ACTS, a: number, b: number, c: number];

export interface Play {
  readonly w: World;
  readonly m: Model;
  readonly relays: readonly Relay[];
  readonly before: Map<number, string>;
  open: Open | undefined;
  decided: number;
  done: number;
}

type Act = (p: Play, a: number, b: number, c: number) => Promise<unknown>;

const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(list.length, 1)];

/** Something that one of the relays holds. */
async function withHeld(
  p: Play,
  n: number,
  fits: (h: Held) => boolean,
  act: (relay: Relay, h: Held) => Promise<unknown>,
): Promise<boolean> {
  const found = pick(
    p.relays.flatMap((relay) => relay.held.filter(fits).map((h) => ({ relay, h }))),
    n,
  );
  if (found === undefined) return false;
  await act(found.relay, found.h);
  return true;
}

const relayOf = (p: Play, n: number): Relay => given(pick(p.relays, n));
const choice = (a: number, b: number, c: number): Choice => ({
  kind: a,
  lane: b,
  delay: c % 4 === 0 ? 1 + (c % 3) : 0,
  window: c % 8 === 0,
  effects: 1 + (a % 2),
  by: c >> 2,
});
const ALL = 31;

const ACTS = {
  decide: async (p, a, b, c) => {
    p.decided += 1;
    committed(p.m, await decide(p.w.s, p.m, `run-${p.decided}`, choice(a, b, c)));
  },
  repeat: (p, a, b) => repeat(p.w, p.m, a, b % 2 === 1),
  open: async (p, a, b, c) => {
    if (p.open !== undefined) return false;
    p.decided += 1;
    await p.w.caller.rows('begin');
    p.open = await decide(p.w.caller, p.m, `run-${p.decided}`, { ...choice(a, b, c), delay: 0 });
    return true;
  },
  commit: async (p, a) => {
    if (p.open === undefined) return false;
    await p.w.caller.rows(a % 4 === 0 ? 'rollback' : 'commit');
    if (a % 4 !== 0) committed(p.m, p.open);
    p.open = undefined;
    return true;
  },
  route: (p, a, b) => route(p.w, p.m, relayOf(p, a), b % 3 === 0 ? 0 : ALL),
  claim: (p, a, b, c) =>
    claim(p.w, p.m, relayOf(p, a), b % 4 === 0 ? 1 + (c % ALL) : ALL, 1 + (b % 3), c % 5 === 0 ? 1 : 100),
  step: (p, a, b) =>
    withHeld(
      p,
      a,
      (h) => h.stage === 'claimed',
      (relay, h) => step(p.w, p.m, relay, h, b % 4 > 0),
    ),
  send: (p, a, b) =>
    withHeld(
      p,
      a,
      (h) => h.stage === 'go',
      (relay, h) => send(p.w, p.m, relay, h, given((['accepted', 'flying', 'lost'] as const)[b % 3])),
    ),
  answer: (p, a, b, c) =>
    withHeld(
      p,
      a,
      (h) => h.stage === 'sent',
      (relay, h) =>
        answer(p.w, p.m, relay, h, given(pick(OUTCOMES, b)), c % 4, given((['hold', 'keep', 'next'] as const)[c % 3])),
    ),
  arrive: async (p, a, b) => {
    const wire = pick(
      p.m.wires.filter((x) => x.fate === 'flying' && p.m.now < x.until),
      a,
    );
    if (wire === undefined) return false;
    if (b % 4 === 0) wire.fate = 'lost';
    else accept(p.m, wire);
    return true;
  },
  renew: (p, a) =>
    withHeld(
      p,
      a,
      () => true,
      (relay, h) => renew(p.w, p.m, relay, h),
    ),
  release: (p, a, b) =>
    withHeld(
      p,
      a,
      (h) => h.stage === 'claimed' && (b % 3 > 0 || h.done.length === 0),
      (relay, h) => giveBack(p.w, p.m, relay, h, b % 3 === 0),
    ),
  crash: async (p, a) => {
    relayOf(p, a).held = [];
  },
  pass: async (p, a) => {
    const units = 1 + (a % 6);
    await p.w.pass(units);
    p.m.now += units;
    for (const x of p.m.wires) if (x.fate === 'flying' && p.m.now >= x.until) x.fate = 'lost';
  },
  sweep: (p) => sweep(p.w, p.m),
  cancel: async (p, a) => {
    const e = pick([...p.m.effects.values()], a);
    return e === undefined ? false : cancel(p.w, p.m, e);
  },
  ask: async (p, a, b, c) => {
    const action = given((['skip', 'redrive', 'release', 'resolve'] as const)[b % 4]);
    const all = [...p.m.effects.values()];
    // Those about whom it means something first; now and then any.
    const likely = all.filter(
      (e) =>
        e.end?.state === 'failed' ||
        p.m.lanes.get(e.lane)?.trouble !== undefined ||
        (action === 'release' && e.place === 'waiting'),
    );
    const e = pick(c % 4 > 0 && likely.length > 0 ? likely : all, a);
    return e === undefined ? false : ask(p.w, p.m, e, action, c);
  },
  /** A whole attempt, so that a run gets deep: claimed, judged, sent, answered; something of it may be left undone. */
  work: async (p, a, b, c) => {
    const relay = relayOf(p, a);
    if (relay.held.length === 0) await claim(p.w, p.m, relay, ALL, 1 + (b % 3), 100);
    await check(p.w, p.m, p.before);
    for (const h of [...relay.held].slice(0, 1 + (c % 3))) {
      if (h.stage === 'claimed') await step(p.w, p.m, relay, h, true);
      await check(p.w, p.m, p.before);
      if (h.stage === 'go')
        await send(p.w, p.m, relay, h, given((['accepted', 'flying', 'lost'] as const)[(b + c) % 3]));
      await check(p.w, p.m, p.before);
      if (h.stage === 'sent' && c % 5 > 0)
        await answer(p.w, p.m, relay, h, given(pick(OUTCOMES, b >> 1)), c % 4, 'hold');
      await check(p.w, p.m, p.before);
    }
  },
  /** Long enough for everything to be due again, looked after. */
  later: async (p) => {
    await p.w.pass(5);
    p.m.now += 5;
    for (const x of p.m.wires) if (x.fate === 'flying' && p.m.now >= x.until) x.fate = 'lost';
    await sweep(p.w, p.m);
    await check(p.w, p.m, p.before);
    await route(p.w, p.m, relayOf(p, 0), 0);
  },
  switch: (p, a, b) => turn(p.w, p.m, given(pick(SCOPES, a)), given(pick(MODES, b))),
  run: async (p, a) => {
    const scope = pick(
      [...p.m.switches].filter(([, { mode }]) => mode !== 'run'),
      a,
    )?.[0];
    return scope === undefined ? false : turn(p.w, p.m, scope, 'run');
  },
  copy: (p, a) => copy(p.w, p.m, a % 2 === 0 ? 'timeline' : 'database'),
  adopt: (p) => adopt(p.w, p.m),
} satisfies Record<string, Act>;

const WEIGHTS: Readonly<Record<keyof typeof ACTS, number>> = {
  decide: 14,
  repeat: 2,
  open: 2,
  commit: 4,
  route: 8,
  claim: 14,
  step: 16,
  send: 14,
  answer: 14,
  arrive: 5,
  renew: 3,
  release: 3,
  crash: 3,
  pass: 12,
  sweep: 8,
  cancel: 4,
  work: 16,
  later: 10,
  ask: 7,
  switch: 2,
  run: 4,
  copy: 1,
  adopt: 3,
};

const number = fc.nat(59);

/** A list of commands of one run. */
export const commandLists = (most: number): fc.Arbitrary<Command[]> =>
  // Unbiased, so that long lists are as frequent as short ones.
  fc.noBias(
    fc.array(
      fc.oneof(
        ...(Object.keys(WEIGHTS) as (keyof typeof ACTS)[]).map((name) => ({
          weight: WEIGHTS[name],
          arbitrary: fc.tuple(fc.constant(name), number, number, number),
        })),
      ),
      { minLength: 1, maxLength: most, size: 'max' },
    ),
  );

export function newPlay(w: World, relays: number): Play {
  return {
    w,
    m: newModel(),
    relays: RELAYS.slice(0, relays).map((name) => ({ name, held: [] })),
    before: new Map(),
    open: undefined,
    decided: 0,
    done: 0,
  };
}

/** Plays one command and looks at everything. */
export async function play(p: Play, [name, a, b, c]: Command): Promise<void> {
  p.m.step += 1;
  if ((await (ACTS[name] as Act)(p, a, b, c)) === false) return;
  p.done += 1;
  await check(p.w, p.m, p.before);
}
