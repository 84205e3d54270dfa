import { type Duration, parseDuration } from '../kernel/durations.js';
import {
  BACKOFF_BASE_MS,
  BACKOFF_MAX_MS,
  EFFECT_TIMEOUT_MS,
  KEY_RETENTION_MS,
  KIND_CONCURRENCY,
  MAX_ATTEMPTS,
} from '../kernel/limits.js';
import { type EffectDefinition, effectDefinition } from '../ports/effect-definition.js';
import type { EffectKind, Idempotency, PerformContext, Risk } from '../ports/effect-kind.js';
import type { KeyProfile } from '../ports/idempotency.js';
import { repetitionOf } from '../ports/key-contract.js';
import type { Outcome, ReconcileResult } from '../ports/outcome.js';
import { notSent } from './outcomes.js';

/**
 * What we use of a Standard Schema (zod, valibot, arktype and others implement it).
 * Source: standardschema.dev, version 1.
 */
export interface StandardSchema<Input, Output> {
  readonly '~standard': {
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

/** What {@link defineEffect} is told. */
export interface EffectSpec<Input, Output> {
  /** The effect type, e.g. `issue_refund`. At most 128 bytes. */
  readonly kind: string;
  /** Default: 1. */
  readonly version?: number;
  /** Named destination. Default: the kind. */
  readonly target?: string;
  /** Checks and parses the payload right before it is sent; a payload that does not fit ends `failed (validation)`, unsent. */
  readonly input?: StandardSchema<Input, Output>;
  /** Whether the effect can be taken back. Default: `irreversible`. */
  readonly risk?: Risk;
  /** How the target recognises a repeated request: a word, or what it guarantees about keys (`profiles.stripe`, …). Default: `none`, the cautious one. */
  readonly idempotency?: Idempotency | KeyProfile;
  /** What to do with an unknown outcome. Default: `reconcile` when there is a hook. A `none` kind without a hook must say `ask-human`. */
  readonly onUnknown?: 'reconcile' | 'ask-human';
  readonly retry?: { readonly maxAttempts?: number; readonly baseDelay?: Duration; readonly maxDelay?: Duration };
  /** Longest time of one attempt. Default 20 s. */
  readonly timeout?: Duration;
  /** Effects of this kind that one relay executes at the same time. Default 16. */
  readonly concurrency?: number;
  /** `skip` cancels an effect, unsent, whose subject has a newer decided version. Only for kinds that carry the whole state. Default: `send`. */
  readonly stale?: 'send' | 'skip';
  /** Cancels an effect, unsent, that is older than this at its turn; counted from its decision, or from when it was due. Default: never. */
  readonly maxAge?: Duration;
  /** Dotted paths whose values are masked in stored answers and errors. */
  readonly redact?: readonly string[];
  perform(input: Output, context: PerformContext): Promise<Outcome>;
  reconcile?(input: Output, context: PerformContext): Promise<ReconcileResult>;
}

/**
 * Defines a kind of effect: what its target guarantees and how it is executed.
 * The result makes intents for decide() and is registered with the relay.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG for durations out of range
 */
export function defineEffect<Input = unknown, Output = Input>(
  spec: EffectSpec<Input, Output>,
): EffectDefinition<Input> {
  const parsed = parser(spec.input);
  const kind: EffectKind = {
    kind: spec.kind,
    version: spec.version ?? 1,
    target: spec.target ?? spec.kind,
    risk: spec.risk ?? 'irreversible',
    ...repetitionOf(spec.idempotency ?? 'none'),
    onUnknown: spec.onUnknown ?? 'reconcile',
    timeoutMs: parseDuration(spec.timeout ?? EFFECT_TIMEOUT_MS, `${spec.kind}: timeout`),
    maxAttempts: spec.retry?.maxAttempts ?? MAX_ATTEMPTS,
    backoffBaseMs: parseDuration(spec.retry?.baseDelay ?? BACKOFF_BASE_MS, `${spec.kind}: retry.baseDelay`),
    backoffMaxMs: parseDuration(spec.retry?.maxDelay ?? BACKOFF_MAX_MS, `${spec.kind}: retry.maxDelay`),
    concurrency: spec.concurrency ?? KIND_CONCURRENCY,
    ...(spec.stale === undefined ? {} : { stale: spec.stale }),
    ...(spec.maxAge === undefined
      ? {}
      : { maxAgeMs: parseDuration(spec.maxAge, `${spec.kind}: maxAge`, { maxMs: KEY_RETENTION_MS }) }),
    redact: spec.redact ?? [],
    ...(parsed === undefined ? {} : { validate: async (input) => (await parsed(input)).problems }),
    perform: async (input, context) => await spec.perform(await value(parsed, input), context),
    ...(spec.reconcile === undefined
      ? {}
      : { reconcile: async (input, context) => await reconcileOf(spec, await value(parsed, input), context) }),
  };
  return effectDefinition<Input>(kind);
}

type Parse<Output> = (input: unknown) => Promise<{ readonly value?: Output; readonly problems: readonly string[] }>;

function parser<Input, Output>(schema: StandardSchema<Input, Output> | undefined): Parse<Output> | undefined {
  if (schema === undefined) return undefined;
  return async (input) => {
    const result = await schema['~standard'].validate(input);
    if (result.issues === undefined) return { value: result.value, problems: [] };
    return {
      problems: result.issues.map(
        (issue) => `${(issue.path ?? []).map(segment).join('.') || 'payload'}: ${issue.message}`,
      ),
    };
  };
}

/** A path segment is a key, or an object that holds one. */
function segment(part: unknown): string {
  return typeof part === 'object' && part !== null && 'key' in part ? String(part.key) : String(part);
}

async function value<Output>(parse: Parse<Output> | undefined, input: unknown): Promise<Output> {
  // Without a schema the author of the kind says by its type what the payload is.
  if (parse === undefined) return input as Output;
  const result = await parse(input);
  // The relay validates first; a direct caller of the kind is not spared either.
  if (result.problems.length > 0) throw notSent(new Error(result.problems.join('; ')));
  return result.value as Output;
}

async function reconcileOf<Input, Output>(
  spec: EffectSpec<Input, Output>,
  input: Output,
  context: PerformContext,
): Promise<ReconcileResult> {
  return (await spec.reconcile?.(input, context)) ?? { found: 'cannotTell' };
}
