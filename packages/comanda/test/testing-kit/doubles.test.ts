import { describe, expect, it, onTestFinished } from 'vitest';
import { profiles } from '../../src/index.js';
import {
  createMailDouble,
  createProviderDouble,
  type HttpProviderDouble,
  type ProviderDoubleOptions,
} from '../../src/testing/index.js';

async function double(options: ProviderDoubleOptions): Promise<HttpProviderDouble> {
  const provider = await createProviderDouble(options);
  onTestFinished(() => provider.close());
  return provider;
}

async function post(
  provider: HttpProviderDouble,
  body: string,
  key?: string,
): Promise<readonly [status: number, id: unknown]> {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const response = await fetch(`${provider.url}/refunds`, { method: 'POST', body, headers });
  const answer = (await response.json()) as { id?: string };
  return [response.status, answer.id];
}

const verdicts = (provider: HttpProviderDouble): string[] => provider.book.map(({ verdict }) => verdict);

describe('a provider double keeps its book', () => {
  it('key: replays, refuses another body, forgets when the lifetime is over', async () => {
    const provider = await double({ idempotency: profiles.stripe });
    expect(await post(provider, '{"n":1}', 'a')).toEqual([200, 'act_1']);
    expect(await post(provider, '{"n":1}', 'a')).toEqual([200, 'act_1']);
    expect(await post(provider, '{"n":2}', 'a')).toEqual([422, undefined]);
    expect(await post(provider, '{"n":2}', 'b'.repeat(256))).toEqual([400, undefined]);
    provider.elapse(24 * 3_600_000);
    expect(await post(provider, '{"n":2}', 'a')).toEqual([200, 'act_5']);
    expect(verdicts(provider)).toEqual(['accepted', 'replayed', 'rejected', 'rejected', 'accepted']);
    expect(
      provider.accepted.map(({ number, method, path, key, body }) => ({ number, method, path, key, body })),
    ).toEqual([
      { number: 1, method: 'POST', path: '/refunds', key: 'a', body: '{"n":1}' },
      { number: 5, method: 'POST', path: '/refunds', key: 'a', body: '{"n":2}' },
    ]);
  });

  it('key: what the profile says about other bodies, stored errors and the place of the key', async () => {
    const lax = await double({
      idempotency: { mode: 'key', bodyMismatch: 'ignored', replays: 'success', carrier: { body: '/meta/key' } },
    });
    lax.next({ status: 500, accepts: true });
    expect(await post(lax, '{"meta":{"key":"a"}}')).toEqual([500, undefined]);
    expect(await post(lax, '{"meta":{"key":"a"},"n":2}')).toEqual([200, 'act_1']);
    const loud = await double({ idempotency: { mode: 'key', bodyMismatch: 'new-operation' } });
    loud.next({ status: 500, accepts: true });
    await post(loud, '{}', 'a');
    expect(await post(loud, '{}', 'a')).toEqual([500, undefined]);
    expect(await post(loud, '{"n":2}', 'a')).toEqual([200, 'act_3']);
  });

  it('natural: the same state again is no new act; none: everything is', async () => {
    const natural = await double({ idempotency: 'natural' });
    await post(natural, '{"n":1}');
    await post(natural, '{"n":1}');
    await post(natural, '{"n":2}');
    expect(verdicts(natural)).toEqual(['accepted', 'replayed', 'accepted']);
    const none = await double({ idempotency: 'none' });
    await post(none, '{"n":1}', 'a');
    await post(none, '{"n":1}', 'a');
    expect(none.accepted).toHaveLength(2);
  });

  it('look-ups find an act by its key, its id and what its body says, and nothing else', async () => {
    const provider = await double({ idempotency: 'key' });
    await post(provider, '{"order":{"id":"ORD-2041"},"amount":2154}', 'k-1');
    const status = async (path: string): Promise<number> => {
      const response = await fetch(`${provider.url}${path}`);
      await response.body?.cancel();
      return response.status;
    };
    expect(await status(`/refunds/${encodeURIComponent('ORD-2041')}`)).toBe(200);
    expect(await status('/refunds?amount=2154')).toBe(200);
    expect(await status('/refunds/act_1')).toBe(200);
    expect(await status('/refunds/ORD-2042')).toBe(404);
    expect(await status('/refunds')).toBe(404);
    expect(verdicts(provider).slice(1)).toEqual(['found', 'found', 'found', 'not-found', 'not-found']);
  });

  it('answers and look-ups of your own', async () => {
    const provider = await double({
      idempotency: 'key',
      isAct: ({ path }) => path !== '/token',
      answer: ({ number }) => ({ status: 201, body: JSON.stringify({ id: `re_${number}` }) }),
      lookUp: (_request, accepted) => ({ body: JSON.stringify({ id: accepted.length }) }),
    });
    expect(await post(provider, '{}', 'a')).toEqual([201, 're_1']);
    const response = await fetch(`${provider.url}/token`, { method: 'POST' });
    expect(await response.json()).toEqual({ id: 1 });
    expect(provider.accepted).toHaveLength(1);
  });
});

describe('what goes wrong', () => {
  it('before and after the act: reset, silent, not readable', async () => {
    const provider = await double({ idempotency: 'none' });
    provider.next('reset-before', 'reset-after', 'malformed');
    await expect(post(provider, '{}')).rejects.toThrow('fetch failed');
    await expect(post(provider, '{}')).rejects.toThrow('fetch failed');
    await expect(post(provider, '{}')).rejects.toThrow(SyntaxError);
    expect(verdicts(provider)).toEqual(['received', 'accepted', 'accepted']);
    provider.clear();
    provider.plan(() => 'silent-before');
    const held = new Promise<void>((resolve) => void provider.onHold(resolve));
    const waiting = post(provider, '{}');
    await held;
    expect([provider.holding, verdicts(provider)]).toEqual([1, ['received']]);
    provider.release();
    expect(await waiting).toEqual([200, 'act_1']);
    expect([provider.holding, verdicts(provider)]).toEqual([0, ['accepted']]);
  });

  it('down, and back on the same port', async () => {
    const provider = await double({});
    await provider.down(true);
    await expect(post(provider, '{}')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await provider.down(false);
    expect(await post(provider, '{}')).toEqual([200, 'act_1']);
    expect(provider.book).toHaveLength(1);
  });

  it('mail: the log is looked up, and fails as told', async () => {
    const mail = await createMailDouble();
    onTestFinished(() => mail.close());
    expect(await mail.lookUp('<1@x>')).toBe('absent');
    mail.next({ status: 500 });
    await expect(mail.lookUp('<1@x>')).rejects.toThrow('the mail log answered 500');
    mail.next('silent-before');
    await expect(mail.lookUp('<1@x>', AbortSignal.timeout(1))).rejects.toThrow('timeout');
    await mail.down(true);
    await expect(mail.lookUp('<1@x>')).rejects.toThrow('ECONNREFUSED');
  });
});
