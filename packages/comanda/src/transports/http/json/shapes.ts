import { didYouMean } from '../../../kernel/did-you-mean.js';
import { isComandaError } from '../../../kernel/errors.js';
import { KEY_LIFETIME_MAX_MS, KEY_RETENTION_MS } from '../../../kernel/limits.js';
import type { KeyProfile } from '../../../ports/idempotency.js';
import { repetitionOf } from '../../../ports/key-contract.js';
import { profiles } from '../../../ports/profiles.js';
import { METHODS_WITH_PAYLOAD } from '../wire.js';
import type { HttpConditionJson } from './condition.js';
import type { HttpRequestJson } from './request-template.js';
import {
  type Check,
  count,
  duration,
  found,
  isList,
  isObject,
  object,
  oneOf,
  pointer,
  problemsOf,
  type Shape,
  shown,
  text,
  textByName,
  texts,
} from './shape.js';
import type { HttpEffectJson, HttpReconcileJson, HttpRetryJson } from './types.js';

const PROFILE = 'profile:';
const WORDS = ['key', 'natural', 'none'] as const;

const idempotency: Check = (value) => {
  if (isObject(value)) return undefined;
  const names = [...WORDS, ...Object.keys(profiles).map((name) => PROFILE + name)];
  if (typeof value === 'string' && names.includes(value)) return undefined;
  const meant = typeof value === 'string' ? didYouMean(value, names) : undefined;
  const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
  const words = WORDS.map((word) => `'${word}'`).join(', ');
  return `is ${shown(value)}, must be one of ${words}, 'profile:NAME' (NAME is ${Object.keys(profiles).join(', ')}) or an object${hint}`;
};

const lifetime: Check = (value) => (value === 'forever' ? undefined : duration(KEY_LIFETIME_MAX_MS)(value));
const textOrFalse: Check = (value) =>
  value === false || text(value) === undefined
    ? undefined
    : `is ${found(value)}, must be a text that is not empty, or false`;
const trueOrTexts: Check = (value) =>
  value === true || texts(value) === undefined ? undefined : `is ${found(value)}, must be true or a list of texts`;
const scalar: Check = (value) => {
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return 'is a number that loses digits when it is read; compare a smaller one, or a text';
  }
  return typeof value !== 'object' || value === null
    ? undefined
    : `is ${found(value)}, must be a text, a number, true, false or null`;
};
const status: Check = (value) => {
  const list = isList(value) ? value : [value];
  const one = (item: unknown): boolean =>
    typeof item === 'number'
      ? Number.isInteger(item) && item >= 200 && item <= 599
      : typeof item === 'string' && /^[2-5]xx$/.test(item);
  const wrong = list.find((item) => !one(item));
  if (list.length > 0 && wrong === undefined) return undefined;
  return `is ${list.length === 0 ? 'an empty list' : shown(wrong)}, must be a number from 200 to 599, a class such as '2xx', or a list of them`;
};

const RETRY: Shape<HttpRetryJson> = {
  maxAttempts: { check: count },
  backoff: { check: oneOf('exponential') },
  baseDelay: { check: duration() },
  maxDelay: { check: duration() },
};

const CONDITION: Shape<HttpConditionJson> = {
  status: { check: status },
  pointer: { check: pointer },
  equals: { check: scalar },
};

const LOOK_UP: Shape<HttpRequestJson> = {
  url: { check: text, required: true },
  method: { check: oneOf('GET', 'HEAD') },
  headers: { check: textByName },
};

const RECONCILE: Shape<HttpReconcileJson> = {
  request: { check: object, required: true },
  applied: { check: object, required: true },
  absent: { check: object },
  providerId: { check: pointer },
};

const KEY_PROFILE: Shape<KeyProfile> = {
  mode: { check: oneOf('key'), required: true },
  carrier: { check: object },
  lifetime: { check: lifetime },
  margin: { check: duration(KEY_LIFETIME_MAX_MS) },
  keyMaxBytes: { check: count },
  conflict: { check: oneOf('in-progress', 'failed') },
  bodyMismatch: { check: oneOf('refused', 'ignored', 'new-operation') },
  replays: { check: oneOf('any-status', 'success') },
};

const CARRIER = { header: { check: text }, body: { check: pointer } };

/** The properties of an HTTP effect, as its form in a file has them. */
const HTTP_EFFECT: Shape<HttpEffectJson> = {
  kind: { check: text, required: true },
  target: { check: text },
  version: { check: count },
  url: { check: text, required: true },
  method: { check: oneOf('POST', 'PUT', 'PATCH', 'DELETE', 'GET') },
  headers: { check: textByName },
  risk: { check: oneOf('reversible', 'irreversible'), required: true },
  idempotency: { check: idempotency, required: true },
  idempotencyHeader: { check: textOrFalse },
  success: { check: object },
  reconcile: { check: object },
  onUnknown: { check: oneOf('reconcile', 'ask-human') },
  timeout: { check: duration() },
  retry: { check: object },
  concurrency: { check: count },
  stale: { check: oneOf('send', 'skip') },
  maxAge: { check: duration(KEY_RETENTION_MS) },
  redact: { check: texts },
  providerId: { check: pointer },
  connection: { check: oneOf('keep-alive', 'fresh') },
  allowPrivateAddresses: { check: trueOrTexts },
};

/** Everything that is wrong with the shape of an effect, objects within it included. */
export function shapeProblems(spec: Readonly<Record<string, unknown>>): string[] {
  const { reconcile } = spec;
  return [
    ...problemsOf(spec, HTTP_EFFECT, ''),
    ...problemsOf(spec['retry'], RETRY, 'retry.'),
    ...keyProblems(spec['idempotency'], spec['method']),
    ...conditionProblems(spec['success'], 'success.'),
    ...problemsOf(reconcile, RECONCILE, 'reconcile.'),
    ...(isObject(reconcile)
      ? [
          ...problemsOf(reconcile['request'], LOOK_UP, 'reconcile.request.'),
          ...conditionProblems(reconcile['applied'], 'reconcile.applied.'),
          ...conditionProblems(reconcile['absent'], 'reconcile.absent.'),
        ]
      : []),
  ];
}

/** The profile that a text names, or what was given. */
export function keyProfile(given: HttpEffectJson['idempotency']): 'key' | 'natural' | 'none' | KeyProfile {
  if (typeof given !== 'string' || !given.startsWith(PROFILE)) return given as 'key' | 'natural' | 'none' | KeyProfile;
  return profiles[given.slice(PROFILE.length) as keyof typeof profiles];
}

function conditionProblems(value: unknown, prefix: string): string[] {
  const problems = problemsOf(value, CONDITION, prefix);
  if (!isObject(value)) return problems;
  const has = (name: string): boolean => value[name] !== undefined;
  if (has('pointer') && !has('equals')) problems.push(`'${prefix}pointer' needs '${prefix}equals'`);
  if (has('equals') && !has('pointer')) problems.push(`'${prefix}equals' needs '${prefix}pointer'`);
  if (Object.keys(value).length === 0)
    problems.push(`'${prefix.slice(0, -1)}' is empty, must have status, or pointer and equals`);
  return problems;
}

function keyProblems(value: unknown, method: unknown): string[] {
  if (!isObject(value)) return [];
  const problems = problemsOf(value, KEY_PROFILE, 'idempotency.');
  const { carrier } = value;
  if (isObject(carrier)) {
    problems.push(...problemsOf(carrier, CARRIER, 'idempotency.carrier.'));
    if (Object.keys(carrier).length !== 1) {
      problems.push("'idempotency.carrier' must have either 'header' or 'body'");
    }
  }
  if (
    isObject(carrier) &&
    typeof method === 'string' &&
    !METHODS_WITH_PAYLOAD.has(method) &&
    carrier['body'] !== undefined
  ) {
    problems.push(`the idempotency key goes into the body at ${shown(carrier['body'])}, and ${shown(method)} has none`);
  }
  if (problems.length > 0) return problems;
  try {
    repetitionOf(value as unknown as KeyProfile);
    return [];
  } catch (error) {
    if (isComandaError(error, 'COMANDA_INVALID_CONFIG')) return [String(error.details['problem'])];
    throw error;
  }
}
