import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { absent, applied, completed, defineEffect, type EffectDefinition, failed, retry } from '../../src/index.js';
import {
  type CheckName,
  createMailDouble,
  createProviderDouble,
  exerciseEffect,
  type ProviderDoubleOptions,
} from '../../src/testing/index.js';
import { smtpEffect } from '../../src/transports/smtp/index.js';
import { careful, keyed, lookUp, natural, REFUND, type Refund, refundRequest, unkeyed } from './handlers.js';

interface Bad {
  readonly name: string;
  /** Scenarios in which it shows; the good handler of the same shape has no problem in them. */
  readonly only: readonly string[];
  readonly check: CheckName;
  readonly says: string | RegExp;
  readonly make: (url: string) => EffectDefinition<Refund>;
  readonly provider?: ProviderDoubleOptions;
}

const RESET_BEFORE = 'the connection is reset before the provider acts';
const RESET_AFTER = 'the connection is reset after the provider acted';
const KILLED_AFTER = 'the process is killed after the provider acted, before it read the answer';
const TIMEOUT = 'no answer comes until the timeout, and the provider did nothing';
const REFUSED = 'the connection is refused';
const BAD_REQUEST = 'the provider refuses for good: 400';

const hourInBody: Pick<Bad, 'check' | 'says' | 'make'> = {
  check: 'bytes-differ',
  says: /^attempts of one effect sent different requests to POST \/refunds: .* make them from the input/,
  make: (url) =>
    keyed(url, {
      perform: (_input, context) => {
        const body = JSON.stringify({ hour: new Date().toISOString().slice(0, 13) });
        return careful(`${url}/refunds`, { ...refundRequest(context), body }, true);
      },
    }),
};

const badHandlers: readonly Bad[] = [
  {
    name: 'catches every error and reports completed',
    only: [RESET_BEFORE],
    check: 'completed-without-act',
    says: 'the effect is recorded as completed and the provider acted not at all instead of once; return completed() only after',
    make: (url) =>
      keyed(url, {
        perform: async (_input, context) => {
          await fetch(`${url}/refunds`, refundRequest(context)).catch(() => {});
          return completed();
        },
      }),
  },
  {
    name: 'makes a new key for each attempt',
    only: [KILLED_AFTER],
    check: 'acted-twice',
    says: /^the provider acted 2 times instead of once: POST \/refunds with key .*; send context\.idempotencyKey as it is/,
    make: (url) =>
      keyed(url, {
        perform: (_input, context) =>
          careful(`${url}/refunds`, { ...refundRequest(context), headers: { 'idempotency-key': randomUUID() } }, true),
      }),
  },
  { ...hourInBody, name: 'puts the time into the body', only: ['the clock of the next process is an hour behind'] },
  { ...hourInBody, name: 'puts the time there, ahead', only: ['the clock of the next process is an hour ahead'] },
  {
    name: 'puts the number of the attempt into the path of a natural act',
    only: [RESET_AFTER],
    check: 'acted-twice',
    says: 'the same input must lead to the same request',
    make: (url) =>
      natural(url, {
        perform: (_input, context) =>
          careful(`${url}/orders/${context.attempt}`, { method: 'PUT', body: '{}', signal: context.signal }, true),
      }),
  },
  {
    name: 'sends no key',
    only: [],
    check: 'no-key',
    says: 'POST /refunds carried no key in the header Idempotency-Key; send context.idempotencyKey there',
    make: (url) =>
      keyed(url, {
        perform: (_input, context) => careful(`${url}/refunds`, { ...refundRequest(context), headers: {} }, true),
      }),
  },
  {
    name: 'makes the key from the input',
    only: ['another decision with the same input'],
    check: 'completed-without-act',
    says: '2 effects are recorded as completed and the provider acted once instead of 2 times; two decisions were taken for one',
    make: (url) =>
      keyed(url, {
        perform: (input, context) =>
          careful(`${url}/refunds`, { ...refundRequest(context), headers: { 'idempotency-key': input.order } }, true),
      }),
  },
  {
    name: 'puts the key into a header as it is',
    only: ['a key with spaces and letters beyond ASCII'],
    check: 'never-sent',
    says: 'Keys are free text: encode what a header cannot carry',
    make: (url) =>
      keyed(url, {
        perform: (_input, context) =>
          careful(
            `${url}/refunds`,
            { ...refundRequest(context), headers: { 'idempotency-key': context.idempotencyKey } },
            true,
          ),
      }),
  },
  {
    name: 'declares a longer memory than the provider has',
    only: ['the next attempt comes as late as its key is trusted'],
    check: 'acted-twice',
    says: 'the provider must remember keys as long as the kind declares',
    make: (url) => keyed(url, { idempotency: { mode: 'key', lifetime: '24h' } }),
    provider: { idempotency: { mode: 'key', lifetime: '30m' } },
  },
  {
    name: 'declares keys that the provider does not know',
    only: [RESET_AFTER],
    check: 'acted-twice',
    says: 'the provider acted 2 times instead of once',
    make: (url) => keyed(url),
    provider: { idempotency: 'none' },
  },
  {
    name: 'does not pass the signal on',
    only: [TIMEOUT],
    check: 'ignored-signal',
    says: 'perform went on after its signal had fired; pass context.signal',
    make: (url) =>
      keyed(url, {
        perform: (_input, { signal: _signal, ...context }) =>
          careful(`${url}/refunds`, { ...refundRequest(context as never), signal: null }, true),
      }),
  },
  {
    name: 'sends although it was told to stop',
    only: ['its signal fires before the handler has sent anything'],
    check: 'sent-after-signal',
    says: 'the handler sent POST /refunds after its signal had fired',
    make: (url) =>
      keyed(url, {
        perform: (_input, context) => careful(`${url}/refunds`, { ...refundRequest(context), signal: null }, true),
      }),
  },
  {
    name: 'waits and retries by itself',
    only: [BAD_REQUEST],
    check: 'too-slow',
    says: 'perform was still running, with nothing left to wait for at the provider, and used up its timeout; leave waiting and retrying to the relay',
    make: (url) =>
      keyed(url, {
        perform: async (_input, context) => {
          const outcome = await careful(`${url}/refunds`, refundRequest(context), true);
          if (outcome.outcome !== 'completed')
            await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
          return outcome;
        },
      }),
  },
  {
    name: 'fails for good when the provider is away',
    only: [REFUSED],
    check: 'gave-up',
    says: 'it ends as a dead letter (fetch failed) although the provider works again',
    make: (url) =>
      keyed(url, {
        perform: async (_input, context) =>
          fetch(`${url}/refunds`, refundRequest(context)).then(
            async (response) => {
              await response.body?.cancel();
              return completed();
            },
            () => failed({ errorText: 'fetch failed' }),
          ),
      }),
  },
  {
    name: 'fails for good when the connection breaks',
    only: [RESET_AFTER],
    check: 'failed-although-applied',
    says: 'it ends as a dead letter (broken) although the provider acted',
    make: (url) =>
      unkeyed(url, {
        perform: async (input, context) =>
          fetch(`${url}/refunds`, { method: 'POST', body: JSON.stringify(input), signal: context.signal }).then(
            async (response) => {
              await response.body?.cancel();
              return completed();
            },
            () => failed({ errorText: 'broken' }),
          ),
      }),
  },
  {
    name: 'throws when nothing can have been sent',
    only: [REFUSED],
    check: 'needless-unknown',
    says: 'a person is asked what happened, after 1 attempt; nothing was done, and that is certain: throw notSent(error), or return retry({ notSent: true }). perform threw TypeError: fetch failed',
    make: (url) =>
      defineEffect<Refund>({
        kind: 'issue_refund',
        idempotency: 'none',
        onUnknown: 'ask-human',
        perform: async (input, context) => {
          const response = await fetch(`${url}/refunds`, {
            method: 'POST',
            body: JSON.stringify(input),
            signal: context.signal,
          });
          await response.body?.cancel();
          return completed();
        },
      }),
  },
  {
    name: 'retries what is refused for good',
    only: [BAD_REQUEST],
    check: 'retried-a-refusal',
    says: 'a refusal for good was tried 8 times; return failed()',
    make: (url) =>
      keyed(url, {
        perform: async (_input, context) => {
          const response = await fetch(`${url}/refunds`, refundRequest(context));
          await response.body?.cancel();
          return response.ok ? completed() : retry({ notSent: true });
        },
      }),
  },
  {
    name: 'does not read Retry-After',
    only: ['the provider answers 429 with Retry-After: 120'],
    check: 'came-back-too-soon',
    says: /^the provider asked for 120 s of patience and the next attempt comes after [\d.]+ s/,
    make: (url) =>
      keyed(url, {
        perform: async (_input, context) => {
          const response = await fetch(`${url}/refunds`, refundRequest(context));
          await response.body?.cancel();
          return response.ok ? completed() : retry();
        },
      }),
  },
  {
    name: 'reads whatever comes',
    only: ['the provider acts and its answer does not end'],
    check: 'unbounded-answer',
    says: 'the handler reads an answer that does not end',
    make: (url) =>
      keyed(url, {
        perform: async (_input, context) => {
          const response = await fetch(`${url}/refunds`, refundRequest(context));
          await response.text();
          return response.ok ? completed() : failed();
        },
      }),
  },
  {
    name: 'takes an error of the look-up for absent',
    only: ['an act that happened is looked up, and the provider answers 500'],
    check: 'false-absent',
    says: 'reconcile answered absent and the provider had acted (the provider had not answered it); absent only when the provider says that it does not have it',
    make: (url) =>
      unkeyed(url, {
        reconcile: async (_input, context) =>
          (await lookUp(`${url}/refunds`, context)).found === 'applied' ? applied() : absent(),
      }),
  },
  {
    name: 'believes that it was applied',
    only: ['an act that never arrived is looked up'],
    check: 'false-applied',
    says: 'reconcile answered applied and the provider had not acted',
    make: (url) => unkeyed(url, { reconcile: async () => applied() }),
  },
  {
    name: 'looks up what nobody knows',
    only: ['an act whose answer was lost is looked up'],
    check: 'false-absent',
    says: '(it was told)',
    make: (url) =>
      unkeyed(url, {
        reconcile: (_input, context) => lookUp(`${url}/refunds`, { ...context, idempotencyKey: 'another' }),
      }),
  },
  {
    name: 'can never tell',
    only: ['an act whose answer was lost is looked up'],
    check: 'cannot-tell',
    says: 'a person is asked although the provider answers again',
    make: (url) =>
      unkeyed(url, {
        reconcile: async () => {
          throw new Error('no');
        },
      }),
  },
  {
    name: 'has an input that does not fit its schema',
    only: [],
    check: 'invalid-input',
    says: 'the handler was never called: validation: the payload does not fit the kind; nothing was sent',
    make: (url) => keyed(url, { input: { '~standard': { validate: () => ({ issues: [{ message: 'no' }] }) } } }),
  },
  {
    name: 'never asks the provider',
    only: [],
    check: 'completed-without-act',
    says: 'the provider never acted; is the handler given provider.url? perform returned completed',
    make: (url) => keyed(url, { perform: async () => completed() }),
  },
  {
    name: 'does not work at all',
    only: [],
    check: 'does-not-complete',
    says: 'with a provider that works, the effect does not complete',
    make: (url) =>
      keyed(url, {
        retry: { maxAttempts: 2 },
        perform: async () => {
          throw new Error('TODO');
        },
      }),
  },
];

describe('a bad handler is found', () => {
  it.each(badHandlers.map((bad) => [bad.name, bad] as const))(
    '%s',
    async (_name, { only, check, says, make, provider: options }) => {
      const provider = await createProviderDouble(options);
      onTestFinished(() => provider.close());
      const report = await exerciseEffect(make(provider.url), { input: REFUND, provider, only, patience: '1s' });
      const problem = report.problems.find((found) => found.check === check);
      expect(problem, report.toString()).toBeDefined();
      expect(problem?.message).toMatch(says);
      expect(problem?.scenarios).toEqual([only[0] ?? 'nothing goes wrong']);
      expect(() => report.assert()).toThrow(/problems? in \d+ scenarios \(seed 1\)\n\n\[/);
    },
  );

  it('mail that is taken for absent when the log cannot be read', async () => {
    const mail = await createMailDouble();
    onTestFinished(() => mail.close());
    const effect = smtpEffect<{ to: string }>({
      kind: 'refund_mail',
      transport: { host: mail.host, port: mail.port },
      message: ({ to }) => ({ from: 'shop@cumbre.example', to, subject: 'Your refund', text: 'On its way.' }),
      reconcile: (messageId) => mail.lookUp(messageId).catch(() => 'absent' as const),
    });
    const only = ['an act that happened is looked up, and the provider answers 500'];
    const report = await exerciseEffect(effect, { input: { to: 'ana@example.com' }, provider: mail, only });
    expect(report.problems.map(({ check }) => check)).toEqual(['false-absent', 'acted-twice']);
  });
});

it('the report of a handler with several faults names each of them once, with its scenarios', async () => {
  const provider = await createProviderDouble();
  onTestFinished(() => provider.close());
  const naive = keyed(provider.url, {
    perform: async (input, context) => {
      await fetch(`${provider.url}/refunds`, {
        method: 'POST',
        headers: { 'idempotency-key': `${input.order}-${context.attempt}` },
        body: '{}',
        signal: context.signal,
      }).catch(() => {});
      return completed();
    },
  });
  const report = await exerciseEffect(naive, { input: REFUND, provider, only: [RESET_BEFORE, KILLED_AFTER], seed: 7 });
  expect(report.toString()).toBe(`issue_refund: 3 problems in 3 scenarios (seed 7)

[completed-without-act] the effect is recorded as completed and the provider acted not at all instead of once; return completed() only after an answer that says so; an error is thrown, or returned as retry() or failed()
  - ${RESET_BEFORE}

[bytes-differ] attempts of one effect sent different requests to POST /refunds: "key ORD-2041-1: {}" and "key ORD-2041-2: {}"; make them from the input and context.idempotencyKey alone, without the time, random values or the number of the attempt
  - ${KILLED_AFTER}

[acted-twice] the provider acted 2 times instead of once: POST /refunds with key ORD-2041-1, POST /refunds with key ORD-2041-2; send context.idempotencyKey as it is, and nothing made anew for each attempt; the provider must remember keys as long as the kind declares
  - ${KILLED_AFTER}`);
});
