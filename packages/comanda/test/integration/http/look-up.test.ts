import { describe, expect, it } from 'vitest';
import type { EffectKind } from '../../../src/ports/effect-kind.js';
import { type HttpEffectDefinition, httpEffect } from '../../../src/transports/http/index.js';
import { attempt, closedPort, loopback, provider } from './hostile-server.js';

function kind(
  url: string,
  reconcile: NonNullable<HttpEffectDefinition['reconcile']>,
  more: Partial<HttpEffectDefinition> = {},
): EffectKind {
  return httpEffect({
    kind: 'send_label',
    risk: 'irreversible',
    idempotency: 'none',
    request: { url },
    reconcile,
    providerId: '/id',
    transport: loopback(),
    ...more,
  }).definition;
}

describe('look-ups', () => {
  it('H07: ask by GET, with the current fence, without key and body', async () => {
    const target = await provider((response) => response.end('{"id":"lbl_1"}'));
    const effect = kind(target.url, {
      request: ({ idempotencyKey }) => ({ url: `${target.url}/labels/${encodeURIComponent(idempotencyKey)}` }),
    });
    expect(effect.onUnknown).toBe('reconcile');
    expect(await effect.reconcile?.({}, attempt({ fence: '9' }))).toMatchObject({
      found: 'applied',
      providerId: 'lbl_1',
      status: 200,
    });
    expect(target.seen[0]).toMatchObject({ method: 'GET', url: '/labels/refund%3AORD-2041%2Fissue_refund', body: '' });
    expect(target.seen[0]?.headers).toMatchObject({ 'comanda-fence': '9' });
    expect(target.seen[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it.each([
    [200, 'applied'],
    [404, 'absent'],
    [302, 'cannotTell'],
    [401, 'cannotTell'],
    [410, 'cannotTell'],
    [429, 'cannotTell'],
    [500, 'cannotTell'],
  ])('%i means %s unless the kind says otherwise', async (status, found) => {
    const target = await provider((response) => response.writeHead(status, { location: '/login' }).end());
    const effect = kind(target.url, { request: { url: target.url } });
    expect(await effect.reconcile?.({}, attempt())).toMatchObject({ found, status });
    expect(target.seen).toHaveLength(1);
  });

  it('are read by the kind; reading that throws or answers something else cannot tell', async () => {
    const target = await provider((response) => response.end('{"data":[]}'));
    const found = async (read: () => unknown) => {
      const lookup = { request: { url: target.url }, read } as NonNullable<HttpEffectDefinition['reconcile']>;
      return (await kind(target.url, lookup).reconcile?.({}, attempt()))?.found;
    };
    expect(await found(() => 'absent')).toBe('absent');
    expect(await found(() => ({ found: 'applied', providerId: 'x' }))).toBe('applied');
    expect(await found(() => 'maybe')).toBe('cannotTell');
    expect(await found(() => JSON.parse('{'))).toBe('cannotTell');
  });

  it('that get no answer cannot tell', async () => {
    const silent = await provider(() => {});
    const lookup = (url: string) => kind(url, { request: { url } }).reconcile?.({}, attempt({ timeoutMs: 80 }));
    expect(await lookup(silent.url)).toMatchObject({ found: 'cannotTell', errorClass: 'timeout' });
    expect(await lookup(`http://127.0.0.1:${await closedPort()}`)).toMatchObject({
      found: 'cannotTell',
      errorClass: 'ECONNREFUSED',
    });
  });

  it('S06: by a function: its error is kept without credentials', async () => {
    const effect = kind('https://example.com', async () => {
      throw Object.assign(new Error('Authorization: Bearer sk_live_1'), { code: 'E_AUTH' });
    });
    expect(await effect.reconcile?.({}, attempt())).toEqual({
      found: 'cannotTell',
      errorClass: 'E_AUTH',
      errorText: 'Authorization: Bearer [redacted]',
    });
    const fine = kind('https://example.com', async ({ idempotencyKey }) => ({
      found: 'applied',
      providerId: idempotencyKey,
    }));
    expect(await fine.reconcile?.({}, attempt())).toEqual({
      found: 'applied',
      providerId: 'refund:ORD-2041/issue_refund',
    });
  });
});
