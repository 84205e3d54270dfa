/** What is checked in every scenario, by the provider's book and by what the handler said. */
export type CheckName =
  | 'invalid-input'
  | 'does-not-complete'
  | 'completed-without-act'
  | 'acted-twice'
  | 'failed-although-applied'
  | 'gave-up'
  | 'never-ends'
  | 'needless-unknown'
  | 'never-sent'
  | 'retried-a-refusal'
  | 'came-back-too-soon'
  | 'bytes-differ'
  | 'no-key'
  | 'false-absent'
  | 'false-applied'
  | 'cannot-tell'
  | 'ignored-signal'
  | 'sent-after-signal'
  | 'too-slow'
  | 'unbounded-answer';

/** One thing that was found wrong in one scenario. */
export type Found = readonly [check: CheckName, message: string];

/** Something that is wrong with a handler. */
export interface Problem {
  readonly check: CheckName;
  /** What was seen in the first of the scenarios, and what to do. */
  readonly message: string;
  /** What was going on. */
  readonly scenarios: readonly string[];
}

/** What became of one scenario. */
export interface ScenarioResult {
  readonly name: string;
  /** `skipped`: it says nothing about this kind, was left out, or could not be run because nothing works. */
  readonly verdict: 'held' | 'broken' | 'skipped';
  readonly attempts: number;
  /** Acts in the provider's book. */
  readonly accepted: number;
}

/** What {@link exerciseEffect} found. */
export interface EffectReport {
  readonly kind: string;
  /** Repeats the exercise exactly: keys and back-off follow from it. */
  readonly seed: number;
  readonly problems: readonly Problem[];
  readonly scenarios: readonly ScenarioResult[];
  /**
   * Does nothing when there is no problem.
   *
   * @throws Error whose message lists every problem, and the seed
   */
  assert(): void;
  /** The same list as text. */
  toString(): string;
}

/** One thing that was seen in one scenario. */
export interface Finding {
  readonly check: CheckName;
  readonly scenario: string;
  readonly message: string;
}

export function makeReport(
  kind: string,
  seed: number,
  findings: readonly Finding[],
  scenarios: readonly ScenarioResult[],
): EffectReport {
  const problems = together(findings);
  const ran = scenarios.filter(({ verdict }) => verdict !== 'skipped').length;
  const text = (): string => {
    const head = `${kind}: ${problems.length} ${problems.length === 1 ? 'problem' : 'problems'} in ${ran} scenarios (seed ${seed})`;
    return [
      head,
      ...problems.map(
        ({ check, message, scenarios: where }) =>
          `\n[${check}] ${message}\n${where.map((name) => `  - ${name}`).join('\n')}`,
      ),
    ].join('\n');
  };
  return {
    kind,
    seed,
    problems,
    scenarios,
    assert: () => {
      if (problems.length > 0) throw new Error(text());
    },
    toString: text,
  };
}

/** One cause shows in many scenarios. */
function together(findings: readonly Finding[]): readonly Problem[] {
  const checks = [...new Set(findings.map(({ check }) => check))];
  return checks.flatMap((check) => {
    const same = findings.filter((finding) => finding.check === check);
    const scenarios = [...new Set(same.map(({ scenario }) => scenario))];
    return same.slice(0, 1).map(({ message }) => ({ check, message, scenarios }));
  });
}
