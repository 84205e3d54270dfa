import { didYouMean } from '../../kernel/did-you-mean.js';
import { type Duration, parseDuration } from '../../kernel/durations.js';
import { comandaError } from '../../kernel/errors.js';
import { toJsonText } from '../../kernel/json-text.js';
import { LEASE_MS } from '../../kernel/limits.js';
import { type EffectDefinition, kindOf } from '../../ports/effect-definition.js';
import type { EffectKind } from '../../ports/effect-kind.js';
import { repetitionOf } from '../../ports/key-contract.js';
import { createRegistry } from '../../relay/registry.js';
import type { EffectInProcess } from '../process/effect-in-process.js';
import { bookOf } from '../provider/registered.js';
import type { ProviderDouble } from '../provider/types.js';
import { contentsOf } from './contents.js';
import { judgeScene, lastWord, readWithoutEnd, sentAfterSignal } from './judge.js';
import { beginLife, type Life, type World } from './life.js';
import { type EffectReport, type Finding, makeReport, type ScenarioResult } from './report.js';
import type { Baseline, Scenario, Stage } from './scenario.js';
import { NOTHING_GOES_WRONG, scenariosFor } from './scenarios.js';
import { createSkippingClock } from './skipping-clock.js';

/** What a handler loads when it is first called can take long. */
const FIRST_CALL_MS = 30_000;

/** Attempts beyond these are like those before. */
const ATTEMPTS_MAX = 12;

/** Transports measure their own timeout in real time, and the machine may be busy; the waiting is skipped in any case. */
const TIMEOUT_MIN_MS = 30_000;

/** What {@link exerciseEffect} needs. */
export interface ExerciseOptions<Input = unknown> {
  /** What the effect is decided with; a function makes it from the effect's key, where a payload repeats that. It must fit the kind's schema. */
  readonly input: Input | ((idempotencyKey: string) => Input);
  /** The provider that the handler talks to; nothing else may talk to it meanwhile. */
  readonly provider: ProviderDouble;
  /** Subject of the decision. Default: `order:ORD-2041`. */
  readonly subject?: string;
  /** Headers stored with the effect. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Names of the scenarios to run; without a word, all that say something about the kind. The first one, in which nothing goes wrong, always runs. */
  readonly only?: readonly string[];
  /** Names of scenarios that are left out, e.g. `['another decision with the same input']`. The report lists them all. */
  readonly without?: readonly string[];
  /** Lease of the relay that will run it. Default: that of the relay. */
  readonly lease?: Duration;
  /** How long, in real time, a handler may do nothing that the provider sees, before its timeout is taken for passed. Default 5 s. */
  readonly patience?: Duration;
  /** Makes keys and back-off. Default 1. */
  readonly seed?: number;
}

/**
 * Runs a handler under everything that can happen to it: killed at each of its requests, run twice at once, its lease lost, answers late, lost, endless or not
 * readable, a provider that is down or forgets keys, a wrong clock. Attempts and look-ups follow the relay's own rules; the waiting between them is skipped.
 * What came of it is read in the provider's book. It needs no database, and says nothing about one.
 *
 * @throws ComandaError COMANDA_UNSAFE_EFFECT or COMANDA_INVALID_CONFIG for a kind that no relay would take
 */
export async function exerciseEffect<Input>(
  effect: EffectDefinition<Input> | EffectKind,
  options: ExerciseOptions<Input>,
): Promise<EffectReport> {
  const kind = kindOf(effect as EffectKind | EffectDefinition<never>);
  const { provider, seed = 1 } = options;
  const leaseMs = parseDuration(options.lease ?? LEASE_MS, 'lease');
  createRegistry([kind], leaseMs);
  agree(kind, provider);
  const rehearsal = rehearse(kind, options, leaseMs);

  const results: ScenarioResult[] = [];
  const findings: Finding[] = [];
  const note = (scenario: string, { lives, found }: Played): void => {
    findings.push(...found.map(([check, message]) => ({ check, scenario, message })));
    results.push({
      name: scenario,
      verdict: found.length === 0 ? 'held' : 'broken',
      attempts: lives.flatMap(({ calls }) => calls).filter(({ of }) => of === 'perform').length,
      accepted: provider.accepted.length,
    });
  };
  const first = await rehearsal.first();
  note(NOTHING_GOES_WRONG, first);
  const scenarios = scenariosFor(first.baseline);
  const wanted = chosen(options, scenarios, first.found.length === 0);
  for (const scenario of scenarios) {
    const scene = { kind, provider, baseline: first.baseline, looksUp: looksUp(kind) };
    if (!wanted(scenario.name) || scenario.when?.(scene) === false)
      results.push({ name: scenario.name, verdict: 'skipped', attempts: 0, accepted: 0 });
    else note(scenario.name, await rehearsal.play(scenario, first.baseline));
  }
  provider.clear();
  return makeReport(kind.kind, seed, findings, results);
}

/** Which scenarios are to be run. When not even the first one holds, none. */
function chosen(
  { only, without = [] }: Pick<ExerciseOptions, 'only' | 'without'>,
  scenarios: readonly Scenario[],
  firstHeld: boolean,
): (name: string) => boolean {
  // A handler of several requests has one scenario for each of them.
  const isCalled = (name: string) => (given: string) => name === given || name.startsWith(`${given} (request `);
  if (!firstHeld) return () => false;
  for (const given of [...(only ?? []), ...without]) {
    if (scenarios.some(({ name }) => isCalled(name)(given))) continue;
    const near = didYouMean(
      given,
      scenarios.map(({ name }) => name),
    );
    throw comandaError('COMANDA_INVALID_CONFIG', {
      problem: `no scenario is called "${given}"${near === undefined ? '' : `, did you mean "${near}"?`}`,
    });
  }
  return (name) => (only === undefined || only.some(isCalled(name))) && !without.some(isCalled(name));
}

type Found = readonly [check: Finding['check'], message: string];

interface Played {
  readonly lives: readonly Life[];
  readonly found: readonly Found[];
}

interface Rehearsal {
  first(): Promise<Played & { readonly baseline: Baseline }>;
  play(scenario: Scenario, baseline: Baseline): Promise<Played>;
}

function rehearse<Input>(kind: EffectKind, options: ExerciseOptions<Input>, leaseMs: number): Rehearsal {
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
      looksUp: looksUp(kind),
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

function firstProblems(kind: EffectKind, provider: ProviderDouble, life: Life): readonly Found[] {
  const { standing } = life.effect;
  const manners = judgeScene(
    { expects: { end: 'applied' } },
    { kind, provider, baseline: { requests: [], acts: provider.accepted.length, contents: new Map() }, looksUp: false },
    [life],
  );
  const performed = life.calls.filter(({ of }) => of === 'perform').length;
  if (life.calls.length === 0)
    return [
      [
        'invalid-input',
        `the handler was never called: ${standing?.reason ?? 'it did not come to its turn'}; give an input that fits the kind's schema`,
      ],
    ];
  if (standing?.state !== 'completed')
    return [
      [
        'does-not-complete',
        `with a provider that works, the effect does not complete (${standing?.reason ?? 'it never ends'}); ${lastWord(life)}`,
      ],
    ];
  if (provider.accepted.length === 0)
    return [
      [
        'completed-without-act',
        `the effect is recorded as completed and the provider never acted; is the handler given provider.url? ${lastWord(life)}`,
      ],
    ];
  if (performed > 1) return [['does-not-complete', `with a provider that works, ${performed} attempts were needed`]];
  const keyless = provider.accepted.find(({ key }) => key === undefined);
  const carrier = bookOf(provider).repetition?.key?.carrier;
  if (kind.idempotency === 'key' && keyless !== undefined && carrier !== undefined) {
    const place = 'header' in carrier ? `the header ${carrier.header}` : `the body at ${carrier.body}`;
    return [
      ['no-key', `${keyless.method} ${keyless.path} carried no key in ${place}; send context.idempotencyKey there`],
    ];
  }
  return manners;
}

function looksUp({ reconcile, onUnknown }: EffectKind): boolean {
  return reconcile !== undefined && onUnknown !== 'ask-human';
}

/** The provider keeps what it was told to keep; without a word, what the kind declares. */
function agree(kind: EffectKind, provider: ProviderDouble): void {
  const book = bookOf(provider);
  const declared =
    kind.key === undefined ? repetitionOf(kind.idempotency) : { idempotency: kind.idempotency, key: kind.key };
  if (book.told && kind.idempotency === 'none' && book.repetition?.idempotency !== 'none')
    throw comandaError('COMANDA_INVALID_CONFIG', {
      problem: `the provider double recognises repetitions (${book.repetition?.idempotency ?? ''}) and ${kind.kind} declares none: a second act would not be seen; make the double without idempotency, or correct the kind`,
    });
  if (!book.told) book.repetition = declared;
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
