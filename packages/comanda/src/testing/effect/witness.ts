import type { EffectKind, PerformContext } from '../../ports/effect-kind.js';
import type { Outcome, ReconcileResult } from '../../ports/outcome.js';
import type { ProviderDouble } from '../provider/types.js';

/** One call of `perform` or `reconcile`, as it was seen from outside. */
export interface Call {
  readonly of: 'perform' | 'reconcile';
  readonly attempt: number;
  /** How many lines the book had when it began. */
  readonly from: number;
  /** How many it had when its signal fired, if it did. */
  stoppedAt: number | undefined;
  /** How many it had when it ended, if it did. */
  to: number | undefined;
  /** It was seen running when its process died: what it did afterwards does not count. */
  dead: boolean;
  said: Outcome | ReconcileResult | undefined;
  threw: unknown;
  /** Acts that the book held when `reconcile` answered. */
  acceptedThen: number;
  /** Look-ups that the provider answered properly for it. */
  answeredLookUps: number;
  readonly ended: Promise<void>;
}

/** Watches a kind's functions from outside. */
export interface Witness {
  readonly calls: Call[];
  /** The kind, whose functions are watched. `before` runs in place of `perform` until it resolves. */
  watch(kind: EffectKind, before?: (context: PerformContext) => Promise<void> | undefined): EffectKind;
}

export function createWitness(provider: ProviderDouble): Witness {
  const calls: Call[] = [];
  const see = <Said extends Outcome | ReconcileResult>(
    of: Call['of'],
    context: PerformContext,
    run: () => Promise<Said>,
  ): Promise<Said> => {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const call: Call = {
      of,
      attempt: context.attempt,
      from: provider.book.length,
      stoppedAt: undefined,
      to: undefined,
      dead: false,
      said: undefined,
      threw: undefined,
      acceptedThen: 0,
      answeredLookUps: 0,
      ended,
    };
    calls.push(call);
    const stopped = (): void => {
      call.stoppedAt ??= provider.book.length;
    };
    if (context.signal.aborted) stopped();
    else context.signal.addEventListener('abort', stopped, { once: true });
    return (async () => {
      try {
        const said = await run();
        call.said = said;
        return said;
      } catch (error) {
        call.threw = error;
        throw error;
      } finally {
        call.to = provider.book.length;
        call.acceptedThen = provider.accepted.length;
        call.answeredLookUps = provider.book
          .slice(call.from)
          .filter(({ what, fault }) => what === 'look-up' && fault === undefined).length;
        context.signal.removeEventListener('abort', stopped);
        end();
      }
    })();
  };
  return {
    calls,
    watch: (kind, before) => {
      const { perform, reconcile } = kind;
      return {
        ...kind,
        perform: async (input, context) => {
          await before?.(context);
          return await see('perform', context, () => perform.call(kind, input, context));
        },
        ...(reconcile === undefined
          ? {}
          : {
              reconcile: (input: unknown, context: PerformContext) =>
                see('reconcile', context, () => reconcile.call(kind, input, context)),
            }),
      };
    },
  };
}
