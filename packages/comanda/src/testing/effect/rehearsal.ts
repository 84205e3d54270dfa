import { parseDuration } from '../../kernel/durations.js';
import { toJsonText } from '../../kernel/json-text.js';
import type { EffectKind } from '../../ports/effect-kind.js';
import { isLookedUp } from '../../relay/reconcile-effect.js';
import type { EffectInProcess } from '../process/effect-in-process.js';
import { contentsOf } from './contents.js';
import type { ExerciseOptions } from './exercise-options.js';
import { firstProblems } from './first-run.js';
import { judgeScene } from './judge.js';
import { beginLife, type Life, type World } from './life.js';
import { readWithoutEnd, sentAfterSignal } from './manners.js';
import type { Found } from './report.js';
import type { Baseline, Scenario, Stage } from './scenario.js';
import { createSkippingClock } from './skipping-clock.js';

/** What a handler loads when it is first called can take long. */
const FIRST_CALL_MS = 30_000;

/** Attempts beyond these are like those before. */
const ATTEMPTS_MAX = 12;

/** Transports measure their own timeout in real time, and the machine may be busy; the waiting is skipped in any case. */
const TIMEOUT_MIN_MS = 30_000;

/** What was played, and what is wrong about it. */
export interface Played {
  readonly lives: readonly Life[];
  readonly found: readonly Found[];
}

/** Plays scenarios against one provider, one after the other. */
export interface Rehearsal {
  first(): Promise<Played & { readonly baseline: Baseline }>;
  play(scenario: Scenario, baseline: Baseline): Promise<Played>;
}

export function rehearse<Input>(kind: EffectKind, options: ExerciseOptions<Input>, leaseMs: number): Rehearsal {
  const { provider, seed = 1, subject = 'order:ORD-2041', headers = {} } = options;
  const payloadOf = (key: string): string =>
    toJsonText(typeof options.input === 'function' ? (options.input as (key: string) => Input)(key) : options.input);
  const patienceMs = parseDuration(options.patience ?? '5s', 'patience');
  const random = seeded(seed);
  let keys = 0;

  const stageOf = (baseline: Baseline, lives: Life[], found: Found[], waitMs = patienceMs): Stage => {
    const kill = (kind as Partial<EffectInProcess>).kill;
    const world: World = { kind, provider, clock: createSkippingClock(), leaseMs, random, patienceMs: waitMs, kill };
    keys += 1;
    const key = `exercise:${seed}:${keys}`;
    return {
      kind,
      provider,
      baseline,
      looksUp: isLookedUp(kind),
      life: ({ attempts, suffix = '' } = {}) => {
        const idempotencyKey = `${key}${suffix}/${kind.kind}`;
        const facts = { idempotencyKey, payloadText: payloadOf(idempotencyKey), subject, headers };
        const timeoutMs = Math.max(kind.timeoutMs, TIMEOUT_MIN_MS);
        const maxAttempts = Math.min(attempts ?? kind.maxAttempts, ATTEMPTS_MAX);
        const life = beginLife({ ...world, kind: { ...kind, maxAttempts, timeoutMs } }, facts);
        lives.push(life);
        return life;
      },
      goesWrong: (fault, { at, thenLookUp } = {}) => {
        let seen = -1;
        let hit = false;
        let hurt = thenLookUp;
        provider.plan(({ what }) => {
          seen += 1;
          if (!hit && (at === undefined ? what === 'act' : seen === at)) {
            hit = true;
            return fault;
          }
          if (!hit || what !== 'look-up') return undefined;
          const now = hurt;
          hurt = undefined;
          return now;
        });
      },
      report: (check, message) => void found.push([check, message]),
    };
  };

  const play = async (scenario: Pick<Scenario, 'expects' | 'run'>, baseline: Baseline): Promise<Played> => {
    provider.clear();
    const lives: Life[] = [];
    const found: Found[] = [];
    const stage = stageOf(baseline, lives, found);
    await scenario.run(stage);
    found.push(...judgeScene(scenario, stage, lives));
    const calls = lives.flatMap((life) => life.calls);
    for (const one of [sentAfterSignal(calls, provider.book), readWithoutEnd(provider.book, lives)])
      if (one !== undefined) found.push(one);
    // Handlers of dead processes wait at connections that nobody needs any more.
    provider.plan();
    provider.drop();
    await Promise.all(lives.map((life) => life.over()));
    return { lives, found };
  };

  return {
    play,
    first: async () => {
      provider.clear();
      const lives: Life[] = [];
      const found: Found[] = [];
      const stage = stageOf(
        { requests: [], acts: 1, contents: new Map() },
        lives,
        found,
        Math.max(patienceMs, FIRST_CALL_MS),
      );
      const life = stage.life();
      await life.toEnd();
      const { accepted, book } = provider;
      const contents = contentsOf(provider, book, life.facts.idempotencyKey);
      const call = life.calls[0];
      const baseline: Baseline = {
        requests: book.slice(call?.from ?? 0, call?.to ?? book.length),
        acts: accepted.length,
        contents: new Map([...contents].map(([place, seen]) => [place, seen.length])),
      };
      return { lives, baseline, found: [...firstProblems(kind, provider, life), ...found] };
    },
  };
}

/** Numbers in [0, 1) that follow from a seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
