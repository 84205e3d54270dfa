import { describe, expect, it, onTestFinished } from 'vitest';
import type { EffectDefinition } from '../../src/index.js';
import { profiles } from '../../src/index.js';
import { createMailDouble, createProviderDouble, exerciseEffect } from '../../src/testing/index.js';
import { type HttpEffectDefinition, httpEffect } from '../../src/transports/http/index.js';
import { smtpEffect } from '../../src/transports/smtp/index.js';
import { keyed, natural, REFUND, type Refund, unkeyed } from './handlers.js';

function http(url: string, more: Partial<HttpEffectDefinition<Refund>>): EffectDefinition<Refund> {
  return httpEffect<Refund>({
    kind: 'issue_refund',
    risk: 'irreversible',
    idempotency: 'key',
    onUnknown: 'ask-human',
    allowPrivateAddresses: ['127.0.0.1'],
    request: { url: `${url}/refunds` },
    ...more,
  });
}

const reference = (url: string): Partial<HttpEffectDefinition<Refund>> => ({
  onUnknown: 'reconcile',
  request: ({ input, sentKey }) => ({ url: `${url}/refunds`, body: JSON.stringify({ ...input, reference: sentKey }) }),
  reconcile: { request: ({ sentKey }) => ({ url: `${url}/refunds?reference=${encodeURIComponent(sentKey)}` }) },
});

describe('a good handler has no problem', () => {
  it.each<readonly [string, (url: string) => EffectDefinition<Refund>, number]>([
    ['defineEffect, key', (url) => keyed(url), 24],
    ['defineEffect, natural', (url) => natural(url), 20],
    ['defineEffect, none with reconcile', (url) => unkeyed(url), 31],
    ['httpEffect, key', (url) => http(url, {}), 24],
    [
      'httpEffect, key in the body, with reconcile',
      (url) =>
        http(url, {
          ...reference(url),
          idempotency: { ...profiles.stripe, carrier: { body: '/id' } },
          request: { url: `${url}/refunds` },
          reconcile: { request: ({ sentKey }) => ({ url: `${url}/refunds/${encodeURIComponent(sentKey)}` }) },
        }),
      34,
    ],
    ['httpEffect, natural', (url) => http(url, { idempotency: 'natural' }), 20],
    ['httpEffect, none with reconcile', (url) => http(url, { ...reference(url), idempotency: 'none' }), 31],
    ['httpEffect, none, a person is asked', (url) => http(url, { idempotency: 'none' }), 21],
  ])('%s', async (_name, make, atLeast) => {
    const provider = await createProviderDouble();
    onTestFinished(() => provider.close());
    const report = await exerciseEffect(make(provider.url), { input: REFUND, provider });
    expect(report.toString()).toMatch(/: 0 problems in \d+ scenarios \(seed 1\)$/);
    expect(report.problems).toEqual([]);
    expect(() => report.assert()).not.toThrow();
    expect(report.scenarios.filter(({ verdict }) => verdict === 'held').length).toBeGreaterThanOrEqual(atLeast);
  });

  it('smtpEffect, with reconcile and without', async () => {
    const mail = await createMailDouble();
    onTestFinished(() => mail.close());
    const mailer = (more: { reconcile?: true }) =>
      smtpEffect<{ to: string }>({
        kind: 'refund_mail',
        transport: { host: mail.host, port: mail.port },
        message: ({ to }) => ({ from: 'shop@cumbre.example', to, subject: 'Your refund', text: 'On its way.' }),
        ...(more.reconcile === true
          ? { reconcile: (messageId, _input, { signal }) => mail.lookUp(messageId, signal) }
          : { onUnknown: 'ask-human' }),
      });
    const input = { to: 'ana@example.com' };
    expect((await exerciseEffect(mailer({ reconcile: true }), { input, provider: mail })).toString()).toMatch(
      / 0 problems in 29 /,
    );
    expect((await exerciseEffect(mailer({}), { input, provider: mail })).toString()).toMatch(/ 0 problems in 19 /);
  });

  it('a handler that asks for a token first: its requests are tried one by one', async () => {
    const provider = await createProviderDouble({ isAct: ({ path }) => path === '/refunds' });
    onTestFinished(() => provider.close());
    const effect = keyed(provider.url, {
      perform: async (input, context) => {
        const token = await fetch(`${provider.url}/token`, { method: 'POST', signal: context.signal });
        await token.body?.cancel();
        return await keyed(provider.url).definition.perform(input, context);
      },
    });
    const report = await exerciseEffect(effect, {
      input: REFUND,
      provider,
      only: ['the connection is reset before the provider acts'],
    });
    expect(report.problems).toEqual([]);
    expect(report.scenarios.filter(({ verdict }) => verdict === 'held').map(({ name }) => name)).toEqual([
      'nothing goes wrong',
      'the connection is reset before the provider acts (request 1 of 2: POST /token)',
      'the connection is reset before the provider acts (request 2 of 2: POST /refunds)',
    ]);
  });
});

describe('what cannot be exercised is refused', () => {
  it('a scenario that does not exist', async () => {
    const provider = await createProviderDouble();
    onTestFinished(() => provider.close());
    await expect(
      exerciseEffect(keyed(provider.url), { input: REFUND, provider, without: ['the connection is refusd'] }),
    ).rejects.toThrow('no scenario is called "the connection is refusd", did you mean "the connection is refused"?');
  });

  it('a kind that no relay would take, and a double that would hide second acts', async () => {
    const provider = await createProviderDouble({ idempotency: 'key' });
    onTestFinished(() => provider.close());
    const { reconcile: _reconcile, ...kind } = unkeyed(provider.url).definition;
    await expect(exerciseEffect(kind, { input: REFUND, provider })).rejects.toMatchObject({
      code: 'COMANDA_UNSAFE_EFFECT',
    });
    await expect(exerciseEffect(unkeyed(provider.url), { input: REFUND, provider })).rejects.toThrow(
      'the provider double recognises repetitions (key) and issue_refund declares none',
    );
  });
});
