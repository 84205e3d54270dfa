import type { EffectKind } from './effect-kind.js';
import type { EffectIntent, EffectOptions } from './intent.js';

/**
 * A kind of effect that is also the function which makes intents of it:
 * `effects: [refund({ amount: 2154 })]` in decide(), `effects: [refund]` in the relay.
 */
export interface EffectDefinition<Input = unknown> {
  (input: Input, options?: EffectOptions): EffectIntent;
  readonly definition: EffectKind;
}

/** Makes a definition of a complete kind. */
export function effectDefinition<Input>(kind: EffectKind): EffectDefinition<Input> {
  const make = (input: Input, options: EffectOptions = {}): EffectIntent => ({
    ...options,
    kind: kind.kind,
    version: kind.version,
    target: kind.target,
    payload: input,
  });
  return Object.assign(make, { definition: kind });
}

/** The kind behind a definition, or the kind itself. */
export function kindOf(effect: EffectKind | EffectDefinition<never>): EffectKind {
  return typeof effect === 'function' ? effect.definition : effect;
}
