import { parseDuration } from '../../kernel/durations.js';
import { comandaError, isComandaError } from '../../kernel/errors.js';
import {
  BACKOFF_BASE_MS,
  BACKOFF_MAX_MS,
  EFFECT_TIMEOUT_MS,
  KEY_RETENTION_MS,
  KIND_CONCURRENCY,
  MAX_ATTEMPTS,
} from '../../kernel/limits.js';
import { type EffectDefinition, effectDefinition } from '../../ports/effect-definition.js';
import type { EffectKind, PerformContext } from '../../ports/effect-kind.js';
import type { KeyContract } from '../../ports/idempotency.js';
import { repetitionOf } from '../../ports/key-contract.js';
import { checkDefinition } from './check-definition.js';
import { performRequest } from './perform.js';
import { lookUp } from './reconcile.js';
import { type KeyTravel, sentKey } from './sent-key.js';
import { type HttpTransport, httpTransport } from './transport.js';
import type { HttpEffect, HttpEffectDefinition } from './types.js';

/**
 * Defines a kind of effect that is one HTTP request: the stored payload as body, byte for byte; the idempotency key where the
 * target looks for it; the fence and, when there is one, the subject's version as headers. Outcomes follow from `HTTP_CLASSIFICATION`.
 *
 * The result makes intents for decide() and is registered with the relay, as that of `defineEffect`.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG when a setting is not valid
 * @throws ComandaError COMANDA_UNSAFE_EFFECT for an irreversible kind without key that nobody could ever clear up
 */
export function httpEffect<Input = unknown>(definition: HttpEffectDefinition<Input>): EffectDefinition<Input> {
  const { kind, reconcile, risk } = definition;
  try {
    return effectDefinition<Input>(build(definition));
  } catch (error) {
    // Says which of many kinds it is.
    if (!isComandaError(error, 'COMANDA_INVALID_CONFIG')) throw error;
    throw comandaError('COMANDA_INVALID_CONFIG', { problem: `HTTP effect '${kind}': ${error.details['problem']}` });
  }

  function build({ redact = [], secrets = [], connection, onUnknown }: HttpEffectDefinition<Input>): EffectKind {
    const transport = transportOf(definition);
    const repetition = repetitionOf(definition.idempotency);
    const { idempotency } = repetition;
    const key = repetition.key === undefined ? undefined : travelOf(definition, repetition.key);
    checkDefinition(definition, transport, idempotency, key);
    const backoff = {
      baseMs: parseDuration(definition.retry?.baseDelay ?? BACKOFF_BASE_MS, 'retry.baseDelay'),
      maxMs: parseDuration(definition.retry?.maxDelay ?? BACKOFF_MAX_MS, 'retry.maxDelay'),
    };
    const fresh = (connection ?? (idempotency === 'none' ? 'fresh' : 'keep-alive')) === 'fresh';
    const shared = { transport, redact, secrets };
    const waitsAt409 = repetition.key?.conflict === 'in-progress';
    const sending = { ...shared, ...backoff, fresh, key, waitsAt409, defaultMethod: 'POST' } as const;
    const looking = { ...shared, fresh: false, key: undefined, defaultMethod: 'GET' } as const;
    const effectOf = (input: unknown, context: PerformContext) => effectFor<Input>(input, context, key);
    return {
      kind,
      target: definition.target ?? kind,
      version: definition.version ?? 1,
      risk,
      ...repetition,
      onUnknown: onUnknown ?? (reconcile === undefined ? 'ask-human' : 'reconcile'),
      timeoutMs: parseDuration(definition.timeout ?? EFFECT_TIMEOUT_MS, 'timeout'),
      maxAttempts: definition.retry?.maxAttempts ?? MAX_ATTEMPTS,
      backoffBaseMs: backoff.baseMs,
      backoffMaxMs: backoff.maxMs,
      concurrency: definition.concurrency ?? KIND_CONCURRENCY,
      ...(definition.stale === undefined ? {} : { stale: definition.stale }),
      ...(definition.maxAge === undefined
        ? {}
        : { maxAgeMs: parseDuration(definition.maxAge, 'maxAge', { maxMs: KEY_RETENTION_MS }) }),
      redact,
      ...(definition.validate === undefined ? {} : { validate: definition.validate }),
      perform: (input, context) => performRequest(definition, effectOf(input, context), context, sending),
      ...(reconcile === undefined
        ? {}
        : { reconcile: (input, context) => lookUp(definition, effectOf(input, context), context, looking) }),
    };
  }
}

/** Where the key goes. The short form `idempotencyHeader` is for targets that need no profile. */
function travelOf({ idempotency, idempotencyHeader }: HttpEffectDefinition<never>, contract: KeyContract): KeyTravel {
  if (idempotencyHeader === undefined) return contract;
  if (typeof idempotency === 'object') {
    throw invalid('idempotencyHeader and a profile are both given; name the header in idempotency.carrier');
  }
  return {
    carrier: idempotencyHeader === false ? undefined : { header: idempotencyHeader },
    keyMaxBytes: contract.keyMaxBytes,
  };
}

function transportOf({ transport, allowPrivateAddresses }: HttpEffectDefinition<never>): HttpTransport {
  if (transport === undefined)
    return httpTransport(allowPrivateAddresses === undefined ? {} : { allowPrivateAddresses });
  if (allowPrivateAddresses !== undefined) {
    throw invalid('allowPrivateAddresses belongs to the transport when one is given');
  }
  return transport;
}

function effectFor<Input>(input: unknown, context: PerformContext, key: KeyTravel | undefined): HttpEffect<Input> {
  const { payloadText, idempotencyKey, attempt, fence, subject, subjectVersion } = context;
  const sent = key === undefined ? idempotencyKey : sentKey(idempotencyKey, key);
  // The payload was checked against the kind's schema at claim; its type is the definition's word.
  return { input: input as Input, payloadText, idempotencyKey, sentKey: sent, attempt, fence, subject, subjectVersion };
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
