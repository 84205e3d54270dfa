import type { KindRequest } from '../outbox/engine.js';
import type { Outcome } from '../ports/outcome.js';
import { busyPlaces } from './busy-places.js';
import type { ClaimedLane } from './claimed-lane.js';
import type { RelayEnvironment } from './environment.js';
import { boundedWaitMs } from './outcome-settlement.js';
import { closedMs, createTarget, isClosed, placesOf, type Target } from './target.js';
import { lessonOf } from './target-lesson.js';
import type { Breaker, Opening } from './target-limits.js';
import type { Released } from './target-queue.js';

/** The destinations of one relay: who may be sent to, how fast, and what attempts taught about them. */
export interface Targets {
  /** Waits until the lane's next effect may be sent, as far as its target is concerned; then it counts as in flight until {@link leave}. Or says when to look again. */
  enter(lane: ClaimedLane): Promise<Released | undefined> | Released | undefined;
  /** After {@link enter}: the database has answered whether it may be sent. */
  asked(lane: ClaimedLane): void;
  leave(lane: ClaimedLane): void;
  /** What an attempt came to. */
  observe(lane: ClaimedLane, outcome: Outcome): void;
  /** The database has just said that the target is closed for so long. Returns when to look again. */
  closed(lane: ClaimedLane, ms: number): number;
  /** Free places per kind: each kind is its own bulkhead, and a target takes no more than it may be given. */
  room(): KindRequest[];
  /** Nobody waits any longer: the relay stops. */
  release(): void;
  /** Counts the lanes of each target. */
  readonly all: () => ReadonlyMap<string, Target>;
}

/** So that a person's word is obeyed within seconds, however long the target is closed. */
const LOOK_AGAIN_MAX_MS = 2_000;
const LOOK_AGAIN_MIN_MS = 100;
/** Pauses that end at the same moment, as answers of the same moment ask for. */
const SAME_MS = 50;

/**
 * @param lanes what the relay works on now
 * @param found something was learned that the database shall know
 */
export function createTargets(
  env: RelayEnvironment,
  breaker: Breaker,
  lanes: () => Iterable<ClaimedLane>,
  found: () => void,
): Targets {
  const { clock, registry } = env;
  const kindsOf = new Map<string, string[]>();
  for (const kind of registry.values()) kindsOf.set(kind.target, [...(kindsOf.get(kind.target) ?? []), kind.kind]);
  const targets = new Map([...kindsOf].map(([name, kinds]) => [name, createTarget(clock, name, kinds)]));
  let stopping = false;

  const of = (lane: ClaimedLane): Target => targets.get(lane.kind.target) ?? unknownTarget(lane);
  const again = (target: Target): number =>
    Math.min(Math.max(closedMs(target, clock.monotonicMs()), LOOK_AGAIN_MIN_MS), LOOK_AGAIN_MAX_MS) +
    env.random() * LOOK_AGAIN_MIN_MS;
  const count = (): void => {
    for (const target of targets.values()) target.held = 0;
    for (const lane of lanes()) if (!lane.waiting) of(lane).held += 1;
  };
  const open = (target: Target, reason: string, { openMs, openMaxMs }: Opening): void => {
    const probe = target.breaker !== 'closed';
    // Answers to what left before it opened say nothing new; only the probe does.
    if (probe && target.probeUntil <= clock.monotonicMs()) return;
    target.breaker = 'open';
    target.closedUntil = Math.max(target.closedUntil, clock.monotonicMs() + openMs);
    target.probeUntil = Number.NEGATIVE_INFINITY;
    target.failures = 0;
    target.findings = { ...target.findings, broke: { reason, probe, openMs, openMaxMs } };
    target.queue.release(again(target));
    found();
  };
  const alive = (target: Target): void => {
    target.failures = 0;
    if (target.breaker === 'closed' || target.probeUntil <= clock.monotonicMs()) return;
    target.findings = { ...target.findings, ok: true };
    found();
  };
  const pause = (target: Target, reason: string, ms: number): void => {
    const until = clock.monotonicMs() + ms;
    if (until <= target.closedUntil + SAME_MS) return;
    target.closedUntil = until;
    target.findings = { ...target.findings, pausedUntil: until, pauseReason: reason };
    target.queue.release(again(target));
    found();
  };
  return {
    enter: (lane) => {
      const target = of(lane);
      if (stopping) return { delayMs: 0 };
      if (isClosed(target, clock.monotonicMs())) return { delayMs: again(target) };
      // One probe at a time.
      if (target.breaker !== 'closed' && target.queue.inFlight > 0) return { delayMs: again(target) };
      return target.queue.enter(lane);
    },
    asked: (lane) => of(lane).queue.asked(),
    leave: (lane) => of(lane).queue.leave(),
    observe: (lane, outcome) => {
      const target = of(lane);
      const reason =
        outcome.errorClass ?? (outcome.status === undefined ? outcome.outcome : `status ${outcome.status}`);
      const asked = outcome.outcome === 'retry' ? boundedWaitMs(outcome.afterMs ?? lane.kind.backoffBaseMs) : 0;
      switch (lessonOf(outcome, lane.stop.reason !== undefined)) {
        case 'alive':
          return alive(target);
        case 'refuses':
          return open(target, reason, breaker.refused);
        case 'down':
          if (target.breaker !== 'closed') return open(target, `the probe failed: ${reason}`, breaker.down);
          target.failures += 1;
          if (target.failures >= breaker.failures)
            open(target, `${target.failures} failures in a row, the last: ${reason}`, breaker.down);
          return;
        case 'patience':
          alive(target);
          return pause(target, reason, asked);
        case 'here':
          target.awayUntil = clock.monotonicMs() + asked;
          return target.queue.release(again(target));
        case 'nothing':
          return;
      }
    },
    closed: (lane, ms) => {
      const target = of(lane);
      target.closedUntil = Math.max(target.closedUntil, clock.monotonicMs() + ms);
      found();
      return again(target);
    },
    room: () => {
      count();
      const busy = busyPlaces(lanes());
      const now = clock.monotonicMs();
      const left = new Map<string, number>();
      const kinds = [...registry.values()];
      // Kinds of one target share its places; none of them is always asked first.
      const from = Math.floor(env.random() * kinds.length);
      return [...kinds.slice(from), ...kinds.slice(0, from)].map((kind) => {
        const target = targets.get(kind.target);
        const places = left.get(kind.target) ?? (target === undefined ? 0 : placesOf(target, now));
        const free = Math.max(Math.min(kind.concurrency - (busy.get(kind.kind) ?? 0), places), 0);
        left.set(kind.target, places - free);
        // What may be repeated must be settled before anything behind it is sent, unless the target recognises the repetition by a key.
        return { kind: kind.kind, lanes: free, batch: kind.idempotency === 'key' ? env.batch : 1 };
      });
    },
    release: () => {
      stopping = true;
      for (const target of targets.values()) target.queue.release(0);
    },
    all: () => {
      count();
      return targets;
    },
  };
}

/** A claimed lane is of a kind of this relay, and each of those has its target. */
function unknownTarget({ kind }: ClaimedLane): never {
  throw new Error(`no target ${kind.target}`);
}
