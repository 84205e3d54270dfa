import { systemClock } from '../../kernel/clock.js';
import { Stop } from '../../kernel/stop.js';
import type { SendItem } from '../../outbox/engine.js';
import type { EffectKind } from '../../ports/effect-kind.js';
import type { ClaimedLane } from '../../relay/claimed-lane.js';
import { type EffectServices, runEffect, type Step } from '../../relay/effect-step.js';
import type { RelayEnvironment } from '../../relay/environment.js';
import type { ProviderDouble } from '../provider/types.js';
import { type EffectFacts, type OneEffect, rememberEffect, type Standing } from './one-effect.js';
import { withShiftedDate } from './shifted-date.js';
import type { SkippingClock } from './skipping-clock.js';
import { type Call, createWitness } from './witness.js';

/** What happens to a process while it runs one attempt. */
export interface Mishap {
  /** It dies: before the handler runs, or when the provider holds a request. */
  readonly dies?: 'before' | 'holding';
  /** Its lease is lost and it is told so: before the handler sends anything, or when the provider holds a request. */
  readonly stops?: 'before' | 'holding';
  /** It stands still when the provider holds a request, and wakes up when its lease has long ended. */
  readonly sleeps?: 'holding';
  /** Its wall clock is wrong by so many milliseconds. */
  readonly clockOffMs?: number;
}

/** One effect from its decision to its end, under the relay's own rules. */
export interface Life {
  readonly facts: EffectFacts;
  readonly effect: OneEffect;
  readonly calls: readonly Call[];
  /** A handler was still running, with nothing held by the provider, when patience ended. */
  readonly dawdled: readonly Call[];
  /** A handler that was still running a while after its signal had fired. */
  readonly ignoredSignal: readonly Call[];
  /** Waits until it is due (the time is skipped), and runs one claim: an attempt or a look-up. */
  step(mishap?: Mishap): Promise<void>;
  /** Runs it until it ends, stands before a person, or has been claimed too often. */
  toEnd(): Promise<Standing | undefined>;
  /** Monotonic milliseconds of its world. */
  now(): number;
  /** Lets time pass while nobody works on it. */
  wait(ms: number): void;
  /** Lets handlers of dead and sleeping processes come to their end. */
  over(): Promise<void>;
}

/** What a life needs. */
export interface World {
  readonly kind: EffectKind;
  readonly provider: ProviderDouble;
  readonly clock: SkippingClock;
  readonly leaseMs: number;
  readonly random: () => number;
  /** Kills the process in which the handler runs, when it runs in one of its own. */
  readonly kill: (() => Promise<void>) | undefined;
  /** Real milliseconds for which a handler may do nothing that the provider sees. */
  readonly patienceMs: number;
}

/** More claims than any legal course of one effect needs. */
const CLAIMS_MAX = 60;
/** As the relay: so long a handler may go on after its signal. */
const GRACE_MS = 1_000;
const NO_TARGETS: EffectServices['targets'] = {
  enter: () => undefined,
  asked: () => {},
  leave: () => {},
  observe: () => {},
  closed: (_lane, ms) => ms,
};

export function beginLife(world: World, facts: EffectFacts): Life {
  const { kind, provider, clock, leaseMs } = world;
  const effect = rememberEffect(kind, facts, leaseMs, clock.monotonicMs());
  const witness = createWitness(provider);
  const dawdled: Call[] = [];
  const ignoredSignal: Call[] = [];
  const leftOver: Promise<unknown>[] = [];
  let claims = 0;

  const skip = (ms: number): void => {
    provider.elapse(ms);
    clock.skip(ms);
  };
  /** The signal has fired: whoever listens to it ends now. */
  const afterSignal = async (): Promise<void> => {
    const call = witness.calls.at(-1);
    if (call !== undefined && !(await within(world.patienceMs, call.ended))) ignoredSignal.push(call);
  };

  const step = async (mishap: Mishap = {}): Promise<void> => {
    if (effect.dueAt === undefined) return;
    skip(Math.max(effect.dueAt - clock.monotonicMs(), 0));
    claims += 1;
    const process = clock.process();
    const { row, payload } = effect.claim(clock.monotonicMs());
    let dead = (): void => undefined;
    const died = new Promise<void>((resolve) => {
      dead = resolve;
    });
    const stop = new Stop();
    const lost = (): void => stop.stop(new Error('the lease was lost'));
    const watched = witness.watch(kind, () => {
      if (mishap.stops === 'before') lost();
      if (mishap.dies !== 'before') return undefined;
      dead();
      return new Promise<void>(() => {});
    });
    const now = clock.monotonicMs();
    const lane: ClaimedLane = {
      lane: row.lane ?? '',
      fence: row.fence,
      kind: watched,
      effects: [{ row, payload }],
      trustedUntil: now + leaseMs,
      heldSince: now,
      // Its clock was as wrong when it claimed.
      clockGapMs: clock.wallMs() + (mishap.clockOffMs ?? 0) - now,
      looking: false,
      waiting: false,
      stop,
    };
    const before = witness.calls.length;
    const heldBefore = provider.holding;
    const services = servicesOf(world, effect, process);
    const running = withShiftedDate(mishap.clockOffMs ?? 0, () => runEffect(services, lane, { row, payload }));
    let alive = true;
    const settled = running.then((result) => {
      if (alive) write(effect, lane.fence, result, clock.monotonicMs());
    });

    const seen = await happening(world, heldBefore, settled, died);
    if (seen === 'ended') return;
    if (seen === 'died' || (seen === 'holding' && mishap.dies === 'holding')) {
      process.die();
      alive = false;
      await world.kill?.();
      for (const call of witness.calls.slice(before)) call.dead = true;
      if (seen !== 'died') leftOver.push(settled);
      return;
    }
    if (seen === 'holding' && mishap.sleeps === 'holding') {
      leftOver.push(settled);
      return;
    }
    if (mishap.stops === 'holding' && stop.reason === undefined) {
      effect.forfeit(clock.monotonicMs());
      lost();
      await afterSignal();
      skip(GRACE_MS);
      await settled;
      return;
    }
    const call = witness.calls.at(-1);
    if (seen === 'idle' && call !== undefined && stop.reason === undefined) dawdled.push(call);
    // Nothing else will happen: its time passes.
    skip(kind.timeoutMs);
    effect.renew(lane.fence, clock.monotonicMs());
    await afterSignal();
    skip(GRACE_MS);
    await settled;
  };

  return {
    facts,
    effect,
    calls: witness.calls,
    dawdled,
    ignoredSignal,
    step,
    now: () => clock.monotonicMs(),
    wait: skip,
    toEnd: async () => {
      while (effect.dueAt !== undefined && claims < CLAIMS_MAX) await step();
      return effect.standing;
    },
    over: async () => void (await within(world.patienceMs, Promise.allSettled(leftOver))),
  };
}

function servicesOf(world: World, effect: OneEffect, clock: RelayEnvironment['clock']): EffectServices {
  const env: Pick<RelayEnvironment, 'id' | 'leaseMs' | 'clock' | 'random' | 'emit'> = {
    id: 'exercise',
    leaseMs: world.leaseMs,
    clock,
    random: world.random,
    emit: () => {},
  };
  return {
    // No part of running one effect looks at anything else of its relay.
    env: env as RelayEnvironment,
    gate: (item: SendItem) => Promise.resolve(effect.maySend(item, clock.monotonicMs())),
    stopping: () => false,
    targets: NO_TARGETS,
    late: (_lane, record) => effect.late(record),
  };
}

function write(effect: OneEffect, fence: string, step: Step, now: number): void {
  if (step.next === 'gone') return;
  if (step.next === 'ended') {
    if (!effect.end(fence, step.record)) effect.late({ ...step.record, outcome: step.record.state });
    return;
  }
  if (!effect.settle(fence, step.settlement, now) && step.settlement.head !== undefined)
    effect.late(step.settlement.head);
}

/** What can be seen from outside next. */
async function happening(
  { patienceMs, provider }: World,
  heldBefore: number,
  settled: Promise<void>,
  died: Promise<void>,
): Promise<'ended' | 'died' | 'holding' | 'idle'> {
  const enough = new AbortController();
  let off = (): void => undefined;
  const holding = new Promise<'holding'>((resolve) => {
    off = provider.onHold(() => resolve('holding'));
    if (provider.holding > heldBefore) resolve('holding');
  });
  try {
    return await Promise.race([
      settled.then(() => 'ended' as const),
      died.then(() => 'died' as const),
      holding,
      systemClock.sleep(patienceMs, enough.signal).then(() => 'idle' as const),
    ]);
  } finally {
    off();
    enough.abort();
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const enough = new AbortController();
  try {
    return await Promise.race([work.then(() => true), systemClock.sleep(ms, enough.signal).then(() => false)]);
  } finally {
    enough.abort();
  }
}
