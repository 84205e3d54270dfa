import { describe, expect, it } from 'vitest';
import { isComandaError } from '../../kernel/errors.js';
import { profiles } from '../../ports/profiles.js';
import { httpEffect } from './http-effect.js';
import type { HttpEffectDefinition } from './types.js';

const base = {
  kind: 'issue_refund',
  risk: 'irreversible',
  idempotency: 'key',
  request: { url: 'https://pay.example.com/refunds' },
} as const satisfies HttpEffectDefinition;

const inBody = { mode: 'key', carrier: { body: '/key' } } as const;

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
    [{ maxAge: '9000d' }, "maxAge is '9000d', allowed is 1ms to 400d"],
    [
      { idempotency: profiles.stripe, idempotencyHeader: 'X-Key' },
      'idempotencyHeader and a profile are both given; name the header in idempotency.carrier',
    ],
    [{ idempotency: { mode: 'key', carrier: { header: 'a b' } } }, '"a b" is not a header name'],
    [
      { idempotency: { mode: 'key', carrier: { body: '' } } },
      "idempotency.carrier.body is empty, expected a place such as '/idempotency_key'",
    ],
    [
      { idempotency: { mode: 'key', carrier: { body: 'key' } } },
      "idempotency.carrier.body must start with '/', e.g. '/id'",
    ],
    [
      { idempotency: inBody, request: { url: 'https://pay.example.com/', method: 'delete' } },
      'the idempotency key goes into the body at /key, and DELETE has none',
    ],
    [
      { idempotency: inBody, request: { url: 'https://pay.example.com/', body: 'a=1' } },
      'the idempotency key goes into the body at /key, and the request has a fixed one',
    ],
    [
      { idempotency: { mode: 'key', lifetime: '2m', margin: '2m' } },
      'idempotency.margin is 120000 ms and the key lives 120000 ms: nothing is left in which an attempt could be repeated',
    ],
    [{ request: { url: 'pay.example.com' } }, 'the URL is not absolute, expected https://host/path'],
  ] as const)('L13: refuses %j at start', (more, message) => {
    expect(problem(() => httpEffect({ ...base, ...more }))).toBe(
      `COMANDA_INVALID_CONFIG HTTP effect 'issue_refund': ${message}`,
    );
  });

  it('keeps what the target guarantees about keys', () => {
    const { idempotency, key } = httpEffect({ ...base, idempotency: profiles.qonto }).definition;
    expect([idempotency, key]).toEqual([
      'key',
      {
        carrier: { header: 'X-Qonto-Idempotency-Key' },
        lifetimeMs: 1_800_000,
        marginMs: 360_000,
        keyMaxBytes: 255,
        conflict: 'in-progress',
        bodyMismatch: 'ignored',
        replays: 'success',
      },
    ]);
    expect(httpEffect({ ...base, idempotency: 'natural' }).definition.key).toBeUndefined();
  });

  it('refuses an irreversible kind whose unknown outcomes nobody could clear up', () => {
    const none = { ...base, idempotency: 'none' } as const;
    expect(problem(() => httpEffect(none))).toMatch(/^COMANDA_UNSAFE_EFFECT it is irreversible/);
    expect(problem(() => httpEffect({ ...none, onUnknown: 'ask-human' }))).toBe('none');
    expect(problem(() => httpEffect({ ...none, reconcile: { request: base.request } }))).toBe('none');
    expect(problem(() => httpEffect({ ...none, risk: 'reversible' }))).toBe('none');
  });
});
