/** What a configuration is expected to show. */
export type Expectation =
  /** No execution breaks a property. */
  | 'holds'
  /** One rule of the engine is taken away: some execution must break a property. */
  | 'caught'
  /** A world in which the promise cannot be kept: some execution must break it, or the model does not see what the manual admits. */
  | 'impossible';

/** One run of the model checker. */
export interface Configuration {
  readonly name: string;
  readonly about: string;
  readonly expect: Expectation;
  /** Preprocessor settings of `proof/formal/options.pml`. */
  readonly flags: readonly string[];
  /** `cycles` also looks for executions that go round for ever. */
  readonly search: 'states' | 'cycles';
  /** Which properties may be the one that is broken. Empty for `holds`. */
  readonly broken: readonly string[];
  /** Part of `--quick`. */
  readonly quick: boolean;
}
