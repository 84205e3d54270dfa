import { describe, expect, it } from 'vitest';
import { profiles } from '../../../src/index.js';
import type { EffectKind } from '../../../src/ports/effect-kind.js';
import { type HttpEffectDefinition, httpEffect } from '../../../src/transports/http/index.js';
import { asRelay, attempt, loopback, provider } from './hostile-server.js';

function kind(url: string, more: Partial<HttpEffectDefinition> = {}): EffectKind {
  return asRelay(
    httpEffect({
      kind: 'issue_refund',
      risk: 'irreversible',
      idempotency: 'key',
      request: { url },
      transport: loopback(),
      ...more,
    }),
  );
}

const inBody = (body: string, keyMaxBytes = 255) => ({ mode: 'key', carrier: { body }, keyMaxBytes }) as const;
const done = { outcome: 'completed' };

describe('the key', () => {
  it.each(Object.entries(profiles))('travels to %s in the header that it looks for', async (_, profile) => {
    const target = await provider((response) => response.end());
    expect(await kind(target.url, { idempotency: profile }).perform({}, attempt())).toMatchObject(done);
    expect(target.seen[0]?.headers[profile.carrier.header.toLowerCase()]).toBe('refund:ORD-2041/issue_refund');
  });

  it('travels in the body, and changes no digit of it', async () => {
    const target = await provider((response) => response.end());
    const effect = kind(target.url, { idempotency: inBody('/meta/idempotency_key') });
    const payloadText = '{"id": 1533947986218845197, "amount": 2154.00}';
    for (const n of [1, 2]) await effect.perform({}, attempt({ payloadText, attempt: n, fence: String(n) }));
    const body =
      '{"id":1533947986218845197,"amount":2154.00,"meta":{"idempotency_key":"refund:ORD-2041/issue_refund"}}';
    expect(target.seen.map((seen) => seen.body)).toEqual([body, body]);
    expect(target.seen[0]?.headers).toMatchObject({ 'content-length': String(Buffer.byteLength(body)) });
    expect(target.seen[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it('is not sent when another value stands in its place', async () => {
    const target = await provider((response) => response.end());
    const effect = kind(target.url, { idempotency: inBody('/key') });
    expect(await effect.perform({}, attempt({ payloadText: '{"key": "mine"}' }))).toEqual({
      outcome: 'failed',
      errorClass: 'validation',
      errorText: 'the payload already holds another value at /key, where the idempotency key goes',
    });
    expect(target.connections()).toBe(0);
  });

  it('is told to a function that makes its own body; one without a body is not sent', async () => {
    const target = await provider((response) => response.end());
    const own = kind('', {
      idempotency: inBody('/key', 40),
      request: ({ sentKey }) => ({ url: target.url, body: `key=${sentKey}` }),
    });
    expect(await own.perform({}, attempt({ idempotencyKey: 'x'.repeat(41) }))).toMatchObject(done);
    expect(target.seen[0]?.body).toMatch(/^key=[\w-]{40}$/);
    const bare = kind('', { idempotency: inBody('/key'), request: () => ({ url: target.url, method: 'DELETE' }) });
    expect(await bare.perform({}, attempt())).toMatchObject({
      outcome: 'retry',
      notSent: true,
      errorText: expect.stringContaining('the idempotency key goes into the body at /key, and DELETE has none'),
    });
    expect(target.seen).toHaveLength(1);
  });

  it('H03: two refunds of the same amount in the same second have two keys, however long and alike', async () => {
    const target = await provider((response) => response.end());
    const effect = kind(target.url, { idempotency: profiles.paypal });
    const keys = ['ORD-2041', 'ORD-2042'].map((order) => `refund:${'customer-7/2026-11-30/'.repeat(10)}${order}`);
    for (const idempotencyKey of [...keys, ...keys]) await effect.perform({}, attempt({ idempotencyKey }));
    const sent = target.seen.map(({ headers }) => headers['paypal-request-id']);
    expect(sent.slice(0, 2)).toEqual(sent.slice(2));
    expect(new Set(sent).size).toBe(2);
    for (const key of sent) expect(key).toMatch(/^sha256-[\w-]{43}$/);
  });

  it('that may be forgotten by now makes an attempt one without key', async () => {
    const target = await provider((response) => response.writeHead(500).end());
    const { definition } = httpEffect({
      kind: 'k',
      risk: 'irreversible',
      idempotency: profiles.qonto,
      request: { url: target.url },
      transport: loopback(),
    });
    expect(await definition.perform({}, attempt({ idempotency: 'key' }))).toMatchObject({ outcome: 'retry' });
    expect(await definition.perform({}, attempt({ idempotency: 'none' }))).toMatchObject({ outcome: 'unknown' });
    // It still travels: a target that remembers it after all does nothing twice.
    expect(new Set(target.seen.map(({ headers }) => headers['x-qonto-idempotency-key'])).size).toBe(1);
  });
});
