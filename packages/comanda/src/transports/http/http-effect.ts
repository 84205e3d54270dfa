import { parseDuration } from '../../kernel/durations.js';
import { comandaError, isComandaError } from '../../kernel/errors.js';
import {
  BACKOFF_BASE_MS,
  BACKOFF_MAX_MS,
  EFFECT_TIMEOUT_MS,
  KIND_CONCURRENCY,
  MAX_ATTEMPTS,
} from '../../kernel/limits.js';
import { type EffectDefinition, effectDefinition } from '../../ports/effect-definition.js';
import type { EffectKind, PerformContext } from '../../ports/effect-kind.js';
import { pointerProblem } from './json-pointer.js';
import { performRequest } from './perform.js';
import { lookUp } from './reconcile.js';
import { type HttpTransport, httpTransport } from './transport.js';
import type { HttpEffect, HttpEffectDefinition } from './types.js';
import { checkHeader, parseUrl } from './wire.js';

const DEFAULT_IDEMPOTENCY_HEADER = 'Idempotency-Key';

/**
 * Defines a kind of effect that is one HTTP request: the stored payload as body, byte for byte; the idempotency key, the fence
 * and, when there is one, the subject's version as headers. Outcomes follow from `HTTP_CLASSIFICATION`.
 *
 * The result makes intents for decide() and is registered with the relay, as that of `defineEffect`.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG when a setting is not valid
 * @throws ComandaError COMANDA_UNSAFE_EFFECT for an irreversible kind without key that nobody could ever clear up
 */
export function httpEffect<Input = unknown>(definition: HttpEffectDefinition<Input>): EffectDefinition<Input> {
  const { kind, idempotency, reconcile, risk } = definition;
  try {
    return effectDefinition<Input>(build(definition));
  } catch (error) {
    // Says which of many kinds it is.
    if (!isComandaError(error, 'COMANDA_INVALID_CONFIG')) throw error;
    throw comandaError('COMANDA_INVALID_CONFIG', { problem: `HTTP effect '${kind}': ${error.details['problem']}` });
  }

  function build({ redact = [], connection, onUnknown }: HttpEffectDefinition<Input>): EffectKind {
    const transport = transportOf(definition);
    checkDefinition(definition, transport);
    const backoff = {
      baseMs: parseDuration(definition.retry?.baseDelay ?? BACKOFF_BASE_MS, 'retry.baseDelay'),
      maxMs: parseDuration(definition.retry?.maxDelay ?? BACKOFF_MAX_MS, 'retry.maxDelay'),
    };
    const fresh = (connection ?? (idempotency === 'none' ? 'fresh' : 'keep-alive')) === 'fresh';
    const idempotencyHeader = idempotency === 'key' ? headerOf(definition.idempotencyHeader) : undefined;
    const sending = { transport, redact, fresh, idempotencyHeader, defaultMethod: 'POST', ...backoff } as const;
    const looking = { transport, redact, fresh: false, idempotencyHeader: undefined, defaultMethod: 'GET' } as const;
    return {
      kind,
      target: definition.target ?? kind,
      version: definition.version ?? 1,
      risk,
      idempotency,
      onUnknown: onUnknown ?? (reconcile === undefined ? 'ask-human' : 'reconcile'),
      timeoutMs: parseDuration(definition.timeout ?? EFFECT_TIMEOUT_MS, 'timeout'),
      maxAttempts: definition.retry?.maxAttempts ?? MAX_ATTEMPTS,
      backoffBaseMs: backoff.baseMs,
      backoffMaxMs: backoff.maxMs,
      concurrency: definition.concurrency ?? KIND_CONCURRENCY,
      redact,
      ...(definition.validate === undefined ? {} : { validate: definition.validate }),
      perform: (input, context) => performRequest(definition, effectOf<Input>(input, context), context, sending),
      ...(reconcile === undefined
        ? {}
        : { reconcile: (input, context) => lookUp(definition, effectOf<Input>(input, context), context, looking) }),
    };
  }
}

function transportOf({ transport, allowPrivateAddresses }: HttpEffectDefinition<never>): HttpTransport {
  if (transport === undefined)
    return httpTransport(allowPrivateAddresses === undefined ? {} : { allowPrivateAddresses });
  if (allowPrivateAddresses !== undefined) {
    throw invalid('allowPrivateAddresses belongs to the transport when one is given');
  }
  return transport;
}

function checkDefinition<Input>(definition: HttpEffectDefinition<Input>, transport: HttpTransport): void {
  const { kind, idempotency, onUnknown, providerId, reconcile, request, retry, risk } = definition;
  if (kind.trim() === '') throw invalid('kind is empty');
  if (onUnknown === 'reconcile' && reconcile === undefined)
    throw invalid("onUnknown is 'reconcile' but there is no reconcile");
  if (idempotency === 'none' && risk === 'irreversible' && reconcile === undefined && onUnknown !== 'ask-human') {
    const problem =
      'it is irreversible, its target recognises no repetition, and nothing says how to find out what happened';
    throw comandaError('COMANDA_UNSAFE_EFFECT', { kind, problem });
  }
  checkCount('retry.maxAttempts', retry?.maxAttempts);
  checkCount('concurrency', definition.concurrency);
  checkCount('version', definition.version);
  const problem = typeof providerId === 'string' ? pointerProblem(providerId) : undefined;
  if (problem !== undefined) throw invalid(`providerId ${problem}`);
  if (typeof definition.idempotencyHeader === 'string') checkHeader(definition.idempotencyHeader, '');
  const fixed = [request, typeof reconcile === 'object' ? reconcile.request : undefined];
  for (const one of fixed) {
    if (typeof one !== 'object') continue;
    const refusal = transport.refusal(parseUrl(one.url).hostname);
    if (refusal !== undefined) throw invalid(refusal);
    for (const [name, value] of Object.entries(one.headers ?? {})) checkHeader(name, value);
  }
}

function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw invalid(`${name} is ${value}, expected a whole number from 1`);
}

function headerOf(header: string | false | undefined): string | undefined {
  return header === false ? undefined : (header ?? DEFAULT_IDEMPOTENCY_HEADER);
}

function effectOf<Input>(input: unknown, context: PerformContext): HttpEffect<Input> {
  const { payloadText, idempotencyKey, attempt, fence, subject, subjectVersion } = context;
  // The payload was checked against the kind's schema at claim; its type is the definition's word.
  return { input: input as Input, payloadText, idempotencyKey, attempt, fence, subject, subjectVersion };
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
