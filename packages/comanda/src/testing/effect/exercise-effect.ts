import { didYouMean } from '../../kernel/did-you-mean.js';
import { parseDuration } from '../../kernel/durations.js';
import { comandaError } from '../../kernel/errors.js';
import { LEASE_MS } from '../../kernel/limits.js';
import { type EffectDefinition, kindOf } from '../../ports/effect-definition.js';
import type { EffectKind } from '../../ports/effect-kind.js';
import { repetitionOf } from '../../ports/key-contract.js';
import { isLookedUp } from '../../relay/reconcile-effect.js';
import { createRegistry } from '../../relay/registry.js';
import { bookOf } from '../provider/registered.js';
import type { ProviderDouble } from '../provider/types.js';
import type { ExerciseOptions } from './exercise-options.js';
import { type Played, rehearse } from './rehearsal.js';
import { type EffectReport, type Finding, makeReport, type ScenarioResult } from './report.js';
import type { Scenario } from './scenario.js';
import { NOTHING_GOES_WRONG, scenariosFor } from './scenarios/index.js';

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
    const scene = { kind, provider, baseline: first.baseline, looksUp: isLookedUp(kind) };
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
