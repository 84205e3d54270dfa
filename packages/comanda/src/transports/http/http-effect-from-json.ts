import { didYouMean } from '../../kernel/did-you-mean.js';
import type { Duration } from '../../kernel/durations.js';
import { comandaError } from '../../kernel/errors.js';
import type { EffectDefinition } from '../../ports/effect-definition.js';
import { httpEffect } from './http-effect.js';
import type { HttpTransport } from './transport.js';

type Check = (value: unknown) => string | undefined;

const text: Check = (value) =>
  typeof value === 'string' && value !== '' ? undefined : 'must be a text that is not empty';
const count: Check = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? undefined : 'must be a whole number from 1';
const duration: Check = (value) =>
  typeof value === 'number' || typeof value === 'string' ? undefined : "must be milliseconds or a text such as '20s'";
const texts: Check = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === 'string') ? undefined : 'must be a list of texts';
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value)
      ? undefined
      : `must be one of ${words.map((word) => `'${word}'`).join(', ')}`;
const textOrFalse: Check = (value) =>
  value === false ? undefined : text(value) && 'must be a text that is not empty, or false';
const textByName: Check = (value) =>
  isObject(value) && Object.values(value).every((item) => typeof item === 'string')
    ? undefined
    : 'must be an object of names and texts';
const trueOrTexts: Check = (value) => (value === true ? undefined : texts(value) && 'must be true or a list of texts');

interface Property {
  readonly check: Check;
  readonly required?: true;
}

const RETRY: Readonly<Record<string, Property>> = {
  maxAttempts: { check: count },
  backoff: { check: oneOf('exponential') },
  baseDelay: { check: duration },
  maxDelay: { check: duration },
};

const PROPERTIES: Readonly<Record<string, Property>> = {
  kind: { check: text, required: true },
  target: { check: text },
  version: { check: count },
  url: { check: text, required: true },
  method: { check: text },
  headers: { check: textByName },
  risk: { check: oneOf('reversible', 'irreversible'), required: true },
  idempotency: { check: oneOf('key', 'natural', 'none'), required: true },
  idempotencyHeader: { check: textOrFalse },
  onUnknown: { check: oneOf('ask-human') },
  timeout: { check: duration },
  retry: { check: (value) => (isObject(value) ? undefined : 'must be an object') },
  concurrency: { check: count },
  redact: { check: texts },
  providerId: { check: text },
  connection: { check: oneOf('keep-alive', 'fresh') },
  allowPrivateAddresses: { check: trueOrTexts },
};

/** The JSON form of an HTTP effect, for people who write no code. The stored payload is the body. */
export interface HttpEffectJson {
  readonly kind: string;
  readonly target?: string;
  readonly version?: number;
  readonly url: string;
  /** Default: `POST`. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly risk: 'reversible' | 'irreversible';
  readonly idempotency: 'key' | 'natural' | 'none';
  readonly idempotencyHeader?: string | false;
  readonly onUnknown?: 'ask-human';
  readonly timeout?: Duration;
  readonly retry?: {
    readonly maxAttempts?: number;
    readonly backoff?: 'exponential';
    readonly baseDelay?: Duration;
    readonly maxDelay?: Duration;
  };
  readonly concurrency?: number;
  readonly redact?: readonly string[];
  /** JSON pointer into the answer, e.g. `/id`. */
  readonly providerId?: string;
  readonly connection?: 'keep-alive' | 'fresh';
  readonly allowPrivateAddresses?: true | readonly string[];
}

/**
 * Makes an effect kind from its JSON form. Nothing is filled in from the payload or the environment.
 *
 * @param spec as read from a file; every problem in it is named at once
 * @throws ComandaError COMANDA_INVALID_CONFIG, also for properties that do not exist
 */
export function httpEffectFromJson(
  spec: unknown,
  options: { readonly transport?: HttpTransport } = {},
): EffectDefinition {
  const problems = isObject(spec)
    ? [
        ...problemsOf(spec, PROPERTIES, ''),
        ...(isObject(spec['retry']) ? problemsOf(spec['retry'], RETRY, 'retry.') : []),
      ]
    : ['must be an object'];
  if (!isHttpEffectJson(spec, problems)) {
    const name = isObject(spec) && typeof spec['kind'] === 'string' ? ` '${spec['kind']}'` : '';
    throw comandaError('COMANDA_INVALID_CONFIG', { problem: `HTTP effect${name}: ${problems.join('; ')}` });
  }
  const { url, method, headers, ...rest } = spec;
  const request = { url, ...(method === undefined ? {} : { method }), ...(headers === undefined ? {} : { headers }) };
  return httpEffect({ ...rest, request, ...options });
}

function isHttpEffectJson(spec: unknown, problems: readonly string[]): spec is HttpEffectJson {
  return isObject(spec) && problems.length === 0;
}

function problemsOf(
  object: Readonly<Record<string, unknown>>,
  properties: Readonly<Record<string, Property>>,
  prefix: string,
): string[] {
  const unknown = Object.keys(object).flatMap((name) => {
    if (Object.hasOwn(properties, name)) return [];
    const meant = didYouMean(name, Object.keys(properties));
    return [`unknown property '${prefix}${name}'${meant === undefined ? '' : `, did you mean '${prefix}${meant}'?`}`];
  });
  const wrong = Object.entries(properties).flatMap(([name, { check, required }]) => {
    const value = object[name];
    if (value === undefined) return required === true ? [`'${prefix}${name}' is missing`] : [];
    const problem = check(value);
    return problem === undefined ? [] : [`'${prefix}${name}' ${problem}`];
  });
  return [...unknown, ...wrong];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
