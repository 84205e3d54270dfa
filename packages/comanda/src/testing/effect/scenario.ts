import type { EffectKind } from '../../ports/effect-kind.js';
import type { Fault, ProviderDouble, ReceivedRequest } from '../provider/types.js';
import type { Life } from './life.js';
import type { CheckName } from './report.js';

/** What the handler does when nothing goes wrong. */
export interface Baseline {
  /** Requests of one attempt, in order. */
  readonly requests: readonly ReceivedRequest[];
  /** Acts that the provider accepted. */
  readonly acts: number;
  /** How many different contents were sent to each place; the effect's key is left out of the place. */
  readonly contents: ReadonlyMap<string, number>;
}

/** What a scenario works with. Each has an empty book. */
export interface Stage {
  readonly kind: EffectKind;
  readonly provider: ProviderDouble;
  readonly baseline: Baseline;
  /** Whether unknown outcomes are looked up; otherwise a person is asked. */
  readonly looksUp: boolean;
  /** Begins the life of an effect. `attempts`: how many the kind may make. `suffix`: makes another key of it. */
  life(options?: { readonly attempts?: number; readonly suffix?: string }): Life;
  /** Does this to one request, the n-th from now on or the first act; and that to the first look-up after it. Nothing to the others. */
  goesWrong(fault: Fault, options?: { readonly at?: number; readonly thenLookUp?: Fault }): void;
  report(check: CheckName, message: string): void;
}

/** What has to come of it when the handler is good. */
export interface Expectation {
  /** `applied`: once. `refused`: the provider never does it. `either`: whatever, if it is the truth. */
  readonly end: 'applied' | 'refused' | 'either';
  /** Nothing was done, and that is certain: nobody needs to be asked. */
  readonly certain?: boolean;
  /** A person may have to be asked even if the provider recognises repetitions. */
  readonly personMay?: boolean;
}

/** A thing that can happen to an effect. */
export interface Scenario {
  readonly name: string;
  readonly expects: Expectation;
  /** Whether it says anything about such a kind. Default: yes. */
  readonly when?: (stage: Pick<Stage, 'kind' | 'provider' | 'baseline' | 'looksUp'>) => boolean;
  /** Runs it on a fresh stage; the lives that were begun are judged afterwards. */
  run(stage: Stage): Promise<void>;
}
