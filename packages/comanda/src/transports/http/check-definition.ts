import { comandaError } from '../../kernel/errors.js';
import type { Idempotency } from '../../ports/effect-kind.js';
import { pointerProblem } from './json-pointer.js';
import type { KeyTravel } from './sent-key.js';
import type { HttpTransport } from './transport.js';
import type { HttpEffectDefinition } from './types.js';
import { checkHeader, METHODS_WITH_PAYLOAD, parseUrl } from './wire.js';

/**
 * Checks what an HTTP effect is made of, before anything is claimed.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG when a setting is not valid, COMANDA_UNSAFE_EFFECT when an unknown outcome would have no way out
 */
export function checkDefinition<Input>(
  definition: HttpEffectDefinition<Input>,
  transport: HttpTransport,
  idempotency: Idempotency,
  key: KeyTravel | undefined,
): void {
  const { kind, onUnknown, providerId, reconcile, request, retry, risk } = definition;
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
  checkCarrier(key?.carrier, request);
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

function checkCarrier<Input>(carrier: KeyTravel['carrier'], request: HttpEffectDefinition<Input>['request']): void {
  if (carrier === undefined) return;
  if ('header' in carrier) {
    checkHeader(carrier.header, '');
    return;
  }
  const problem =
    carrier.body === '' ? "is empty, expected a place such as '/idempotency_key'" : pointerProblem(carrier.body);
  if (problem !== undefined) throw invalid(`idempotency.carrier.body ${problem}`);
  if (typeof request === 'function') return;
  const method = request.method?.toUpperCase() ?? 'POST';
  if (request.body === undefined && METHODS_WITH_PAYLOAD.has(method)) return;
  const found = request.body === undefined ? `${method} has none` : 'the request has a fixed one';
  throw invalid(`the idempotency key goes into the body at ${carrier.body}, and ${found}`);
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
