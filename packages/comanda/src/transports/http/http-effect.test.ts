import { describe, expect, it } from 'vitest';
import { isComandaError } from '../../kernel/errors.js';
import { httpEffect } from './http-effect.js';
import { httpEffectFromJson } from './http-effect-from-json.js';
import type { HttpEffectDefinition } from './types.js';

const base = {
  kind: 'issue_refund',
  risk: 'irreversible',
  idempotency: 'key',
  request: { url: 'https://pay.example.com/refunds' },
} as const satisfies HttpEffectDefinition;

function problem(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isComandaError(error)) return `${error.code} ${error.details['problem']}`;
    throw error;
  }
  return 'none';
}

describe('httpEffect', () => {
  it('has the documented defaults, and makes intents', () => {
    const refund = httpEffect(base);
    expect(refund.definition).toMatchObject({
      kind: 'issue_refund',
      target: 'issue_refund',
      version: 1,
      risk: 'irreversible',
      idempotency: 'key',
      onUnknown: 'ask-human',
      timeoutMs: 20_000,
      maxAttempts: 8,
      backoffBaseMs: 1_000,
      backoffMaxMs: 600_000,
      concurrency: 16,
      redact: [],
    });
    expect(refund.definition.reconcile).toBeUndefined();
    expect(refund({ amount: 2154 })).toEqual({
      kind: 'issue_refund',
      version: 1,
      target: 'issue_refund',
      payload: { amount: 2154 },
    });
  });

  it.each([
    [{ timeout: '365d' }, "timeout is '365d', allowed is 1ms to 24d"],
    [
      { retry: { maxDelay: 'soon' } },
      "retry.maxDelay is 'soon', expected milliseconds or a text such as '20s', '10m' or '72h'",
    ],
    [{ retry: { maxAttempts: 0 } }, 'retry.maxAttempts is 0, expected a whole number from 1'],
    [{ concurrency: 1.5 }, 'concurrency is 1.5, expected a whole number from 1'],
    [{ onUnknown: 'reconcile' }, "onUnknown is 'reconcile' but there is no reconcile"],
    [{ providerId: 'id' }, "providerId must start with '/', e.g. '/id'"],
    [{ idempotencyHeader: 'a b' }, '"a b" is not a header name'],
    [{ request: { url: 'pay.example.com' } }, 'the URL is not absolute, expected https://host/path'],
  ] as const)('L13: refuses %j at start', (more, message) => {
    expect(problem(() => httpEffect({ ...base, ...more }))).toBe(
      `COMANDA_INVALID_CONFIG HTTP effect 'issue_refund': ${message}`,
    );
  });

  it('refuses an irreversible kind whose unknown outcomes nobody could clear up', () => {
    const none = { ...base, idempotency: 'none' } as const;
    expect(problem(() => httpEffect(none))).toMatch(/^COMANDA_UNSAFE_EFFECT it is irreversible/);
    expect(problem(() => httpEffect({ ...none, onUnknown: 'ask-human' }))).toBe('none');
    expect(problem(() => httpEffect({ ...none, reconcile: { request: base.request } }))).toBe('none');
    expect(problem(() => httpEffect({ ...none, risk: 'reversible' }))).toBe('none');
  });
});

describe('httpEffectFromJson', () => {
  const json = {
    kind: 'issue_refund',
    url: 'https://pay.example.com/refunds',
    risk: 'irreversible',
    idempotency: 'key',
  };

  it('reads what it knows', () => {
    const spec = {
      ...json,
      target: 'payments',
      method: 'PUT',
      headers: { Authorization: 'Bearer x' },
      timeout: '5s',
      retry: { maxAttempts: 3, baseDelay: '2s', maxDelay: '1m', backoff: 'exponential' },
      redact: ['customer.email'],
    };
    expect(httpEffectFromJson(JSON.parse(JSON.stringify(spec))).definition).toMatchObject({
      target: 'payments',
      timeoutMs: 5_000,
      maxAttempts: 3,
      backoffBaseMs: 2_000,
      backoffMaxMs: 60_000,
      redact: ['customer.email'],
    });
  });

  it.each([
    ['no object', [], 'HTTP effect: must be an object'],
    [
      'a typing error',
      { ...json, tmeout: '5s' },
      "HTTP effect 'issue_refund': unknown property 'tmeout', did you mean 'timeout'?",
    ],
    ['an unknown property', { ...json, zebra: 1 }, "HTTP effect 'issue_refund': unknown property 'zebra'"],
    [
      'a property of an object’s prototype',
      { ...json, toString: 1 },
      "HTTP effect 'issue_refund': unknown property 'toString'",
    ],
    [
      'a typing error inside',
      { ...json, retry: { maxAttempt: 3 } },
      "HTTP effect 'issue_refund': unknown property 'retry.maxAttempt', did you mean 'retry.maxAttempts'?",
    ],
    [
      'missing properties',
      { kind: 'k' },
      "HTTP effect 'k': 'url' is missing; 'risk' is missing; 'idempotency' is missing",
    ],
    [
      'wrong types',
      { ...json, idempotency: 'yes', headers: { a: 1 }, version: '1', retry: [], redact: 'x', idempotencyHeader: true },
      "HTTP effect 'issue_refund': 'version' must be a whole number from 1; 'headers' must be an object of names and texts; " +
        "'idempotency' must be one of 'key', 'natural', 'none'; 'idempotencyHeader' must be a text that is not empty, or false; " +
        "'retry' must be an object; 'redact' must be a list of texts",
    ],
    [
      'a wrong duration',
      { ...json, timeout: '5 parsecs' },
      "HTTP effect 'issue_refund': timeout is '5 parsecs', expected milliseconds or a text such as '20s', '10m' or '72h'",
    ],
    [
      'a private address',
      { ...json, url: 'http://10.0.0.1/' },
      "HTTP effect 'issue_refund': 10.0.0.1 is a private address; list it in allowPrivateAddresses if the target really is inside your network",
    ],
  ])('refuses %s', (_, spec, message) => {
    expect(problem(() => httpEffectFromJson(spec))).toBe(`COMANDA_INVALID_CONFIG ${message}`);
  });
});
