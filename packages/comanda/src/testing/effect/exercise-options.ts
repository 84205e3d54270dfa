import type { Duration } from '../../kernel/durations.js';
import type { ProviderDouble } from '../provider/types.js';

/** What `exerciseEffect` needs. */
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
