import { completed, type EffectDefinition, failed, notSent, type Outcome, retry } from 'comanda';
import {
  createMailDouble,
  createProviderDouble,
  type HttpProviderDouble,
  type MailDouble,
  transportConformance,
} from 'comanda/testing';
import { httpEffect } from 'comanda/transports/http';
import { smtpEffect } from 'comanda/transports/smtp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keyed, REFUND, type Refund, refundRequest, unkeyed } from '../testing-kit/handlers.js';

// Checks are made when tests are collected: the doubles must be there already.
const provider: HttpProviderDouble = await createProviderDouble();
const mail: MailDouble = await createMailDouble();
const SECRETS = ['sk_live_51H8xJ2', 'hunter2-hunter2'];

afterAll(async () => {
  await provider.close();
  await mail.close();
});

describe.each(['key', 'natural', 'none'] as const)('the HTTP transport, %s', (idempotency) => {
  const effect = httpEffect({
    kind: 'issue_refund',
    risk: 'irreversible',
    idempotency,
    onUnknown: 'ask-human',
    allowPrivateAddresses: ['127.0.0.1'],
    secrets: SECRETS.slice(1),
    request: { url: `${provider.url}/refunds`, headers: { authorization: `Bearer ${SECRETS[0]}` } },
  });
  for (const check of transportConformance({ effect, input: REFUND, provider, secrets: SECRETS }))
    test(check.name, check.run);
});

describe('the SMTP transport', () => {
  const effect = smtpEffect({
    kind: 'refund_mail',
    onUnknown: 'ask-human',
    transport: { host: mail.host, port: mail.port },
    message: () => ({
      from: 'shop@cumbre.example',
      to: 'ana@example.com',
      subject: 'Your refund',
      text: 'On its way.',
    }),
  });
  for (const check of transportConformance({ effect, input: {}, provider: mail })) test(check.name, check.run);
});

describe('the suite finds what is missing', () => {
  const url = provider.url;
  const send = async (body: string, signal?: AbortSignal | null): Promise<Outcome> => {
    const response = await fetch(`${url}/refunds`, { method: 'POST', body, signal: signal ?? null });
    await response.body?.cancel();
    return response.ok ? completed() : failed();
  };
  const run = async (effect: EffectDefinition<Refund>, secrets: readonly string[] = []): Promise<string[]> => {
    const broken: string[] = [];
    for (const check of transportConformance({ effect, input: REFUND, provider, secrets })) {
      await check.run().catch(() => broken.push(check.name));
    }
    return broken;
  };

  beforeAll(() => provider.clear());

  test('in a transport that throws, and looks at neither signal nor sendBy', async () => {
    const broken = await run(
      unkeyed(url, { perform: (input, context) => send(JSON.stringify(input), context.signal) }),
    );
    expect(broken).toEqual([
      'a refused connection is a retry that was certainly not sent',
      'nothing is sent when its signal has fired before',
      'nothing is sent after the moment until which it may be sent',
    ]);
  });

  test('in a transport that calls every error one that was not sent, and every answer a success', async () => {
    const broken = await run(
      keyed(url, {
        perform: async (_input, context) => {
          if (performance.now() > context.sendBy) throw notSent(new Error('too late'));
          try {
            const response = await fetch(`${url}/refunds`, refundRequest(context));
            return completed({ response: await response.text() });
          } catch {
            return retry({ notSent: true });
          }
        },
      }),
      ['sk_live_51H8xJ2'],
    );
    expect(broken).toEqual([
      'a connection that breaks before the provider acts leaves the outcome open',
      'a connection that breaks after the provider acted leaves the outcome open',
      'the signal of a lost lease ends an attempt that waits for its answer, and leaves the outcome open',
      'the signal of the timeout ends an attempt that waits for its answer, and leaves the outcome open',
      'a refusal for good is failed',
      'an answer that does not end is given up',
      'no outcome holds a credential, also when the provider repeats it',
    ]);
  });

  test('in a transport that makes a key for each attempt, and one that sends twice', async () => {
    expect(
      await run(
        keyed(url, {
          perform: (_input, context) =>
            fetch(url, { ...refundRequest(context), headers: { 'idempotency-key': context.fence } }).then(
              async (response) => {
                await response.body?.cancel();
                return completed();
              },
            ),
        }),
      ),
    ).toContain('two attempts of one effect send the same key');
    expect(await run(unkeyed(url, { perform: () => send('{}').then(() => send('{}')) }))).toContain(
      'an act that the provider takes is completed, and happens once',
    );
  });
});
