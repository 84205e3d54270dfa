import { type Duration, parseDuration } from '../../kernel/durations.js';
import { comandaError, isComandaError } from '../../kernel/errors.js';
import { BACKOFF_BASE_MS, BACKOFF_MAX_MS, MAX_ATTEMPTS } from '../../kernel/limits.js';
import { type EffectDefinition, effectDefinition } from '../../ports/effect-definition.js';
import type { EffectKind, PerformContext } from '../../ports/effect-kind.js';
import { isDomain } from './message-id.js';
import { lookUp, performSend } from './perform.js';
import type { SmtpEffectDefinition, SmtpMail } from './types.js';

/** Servers may check a whole message before they answer (RFC 5321, 4.5.3.2.6 even allows ten minutes). */
const TIMEOUT: Duration = '1m';
/** Mail servers limit connections per client. */
const CONCURRENCY = 4;

/**
 * Defines a kind of effect that is one message, handed to a mail server on a connection of its own. Outcomes follow from `SMTP_CLASSIFICATION`.
 *
 * A mail server recognises no repetition. An attempt whose answer was lost is therefore unknown, and never sent again unless `reconcile` or a person says so; every
 * attempt and every later resend carries the same Message-ID.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG when a setting is not valid
 * @throws ComandaError COMANDA_UNSAFE_EFFECT without `reconcile`, unless it says `onUnknown: 'ask-human'`
 */
export function smtpEffect<Input = unknown>(definition: SmtpEffectDefinition<Input>): EffectDefinition<Input> {
  try {
    return effectDefinition<Input>(build(definition));
  } catch (error) {
    // Says which of many kinds it is.
    if (!isComandaError(error, 'COMANDA_INVALID_CONFIG')) throw error;
    throw comandaError('COMANDA_INVALID_CONFIG', {
      problem: `SMTP effect '${definition.kind}': ${error.details['problem']}`,
    });
  }
}

function build<Input>(definition: SmtpEffectDefinition<Input>): EffectKind {
  const { kind, maxAge, onUnknown, reconcile, retry, validate } = definition;
  check(definition);
  return {
    kind,
    target: definition.target ?? kind,
    version: count('version', definition.version ?? 1),
    risk: 'irreversible',
    idempotency: 'none',
    onUnknown: onUnknown ?? 'reconcile',
    timeoutMs: parseDuration(definition.timeout ?? TIMEOUT, 'timeout'),
    maxAttempts: count('retry.maxAttempts', retry?.maxAttempts ?? MAX_ATTEMPTS),
    backoffBaseMs: parseDuration(retry?.baseDelay ?? BACKOFF_BASE_MS, 'retry.baseDelay'),
    backoffMaxMs: parseDuration(retry?.maxDelay ?? BACKOFF_MAX_MS, 'retry.maxDelay'),
    concurrency: count('concurrency', definition.concurrency ?? CONCURRENCY),
    redact: definition.redact ?? [],
    ...(maxAge === undefined ? {} : { maxAgeMs: parseDuration(maxAge, 'maxAge') }),
    ...(validate === undefined ? {} : { validate }),
    perform: (input, context) => performSend(definition, mailOf<Input>(input, context), context),
    ...(reconcile === undefined
      ? {}
      : { reconcile: (input, context) => lookUp(definition, mailOf<Input>(input, context), context) }),
  };
}

function check<Input>({ kind, messageIdDomain, onUnknown, reconcile, transport }: SmtpEffectDefinition<Input>): void {
  if (kind.trim() === '') throw invalid('kind is empty');
  if (reconcile === undefined && onUnknown !== 'ask-human') {
    const problem = 'a mail server recognises no repetition, and nothing says how to find out what happened';
    throw comandaError('COMANDA_UNSAFE_EFFECT', { kind, problem });
  }
  const { auth, host, port } = transport;
  if (typeof host !== 'string' || !/^[\w.:-]+$/.test(host))
    throw invalid('transport.host is not a host name or address');
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65_535))
    throw invalid(`transport.port is ${String(port)}, expected a whole number from 1 to 65535`);
  // An empty password is a variable that was not set.
  if (auth !== undefined && !(isText(auth.user) && isText(auth.pass)))
    throw invalid('transport.auth needs user and pass, both not empty');
  if (messageIdDomain !== undefined && !isDomain(messageIdDomain))
    throw invalid(`messageIdDomain ${JSON.stringify(messageIdDomain)} is not a domain`);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function count(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw invalid(`${name} is ${value}, expected a whole number from 1`);
}

function mailOf<Input>(input: unknown, { attempt, idempotencyKey, subject }: PerformContext): SmtpMail<Input> {
  // The payload was checked against the kind's schema at claim; its type is the definition's word.
  return { input: input as Input, idempotencyKey, attempt, subject };
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
