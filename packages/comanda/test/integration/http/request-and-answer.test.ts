import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/kernel/clock.js';
import { parseJsonLossless } from '../../../src/kernel/json-parse.js';
import type { EffectKind } from '../../../src/ports/effect-kind.js';
import {
  type HttpEffectDefinition,
  type HttpTransport,
  type HttpTransportOptions,
  httpEffect,
  httpEffectFromJson,
  httpTransport,
} from '../../../src/transports/http/index.js';
import { asRelay, attempt, closedPort, loopback, peer, provider, until } from './hostile-server.js';

function kind(url: string, more: Partial<HttpEffectDefinition> = {}): EffectKind {
  return asRelay(
    httpEffect({
      kind: 'issue_refund',
      risk: 'irreversible',
      idempotency: 'key',
      onUnknown: 'ask-human',
      request: { url },
      transport: loopback(),
      ...more,
    }),
  );
}

describe('the request', () => {
  it('P05: carries the stored payload byte for byte', async () => {
    const payloadText = '{"b": 1.0, "orderId": 1533947986218845197, "name": "Peña 😀"}';
    const target = await provider((response) => response.end());
    await kind(target.url).perform(parseJsonLossless(payloadText), attempt({ payloadText }));
    expect(target.seen[0]).toMatchObject({ method: 'POST', body: payloadText });
    expect(target.seen[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(payloadText)),
    });
  });

  it('P05: a function that makes the request sees no rounded number', async () => {
    const payloadText = '{"orderId": 1533947986218845197}';
    const target = await provider((response) => response.end());
    const effect = httpEffect<{ orderId: bigint }>({
      kind: 'k',
      risk: 'reversible',
      idempotency: 'key',
      request: ({ input }) => ({ url: `${target.url}/orders/${input.orderId}`, method: 'PUT' }),
      transport: loopback(),
    });
    await effect.definition.perform(parseJsonLossless(payloadText), attempt({ payloadText }));
    expect(target.seen[0]).toMatchObject({ method: 'PUT', url: '/orders/1533947986218845197', body: payloadText });
  });

  it('carries key, fence, subject version and trace context', async () => {
    const target = await provider((response) => response.end());
    const headers = {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      TraceState: 'a=b',
      other: 'x',
    };
    await kind(target.url).perform({}, attempt({ fence: '123', subjectVersion: '42', headers }));
    expect(target.seen[0]?.headers).toMatchObject({
      'idempotency-key': 'refund:ORD-2041/issue_refund',
      'comanda-fence': '123',
      'comanda-subject-version': '42',
      traceparent: headers.traceparent,
      tracestate: 'a=b',
    });
    expect(target.seen[0]?.headers).not.toHaveProperty('other');
  });

  it('H01: carries the same key on every attempt, whatever the function says', async () => {
    const target = await provider((response, _, index) => response.writeHead(index < 5 ? 500 : 200).end());
    const effect = kind('', {
      request: ({ attempt: n }) => ({
        url: target.url,
        headers: { 'idempotency-key': `fresh-${n}`, 'comanda-fence': '0' },
      }),
    });
    for (let n = 1; n <= 5; n++) await effect.perform({}, attempt({ attempt: n, fence: String(n) }));
    expect(new Set(target.seen.map(({ headers }) => headers['idempotency-key']))).toEqual(
      new Set(['refund:ORD-2041/issue_refund']),
    );
    expect(target.seen.map(({ headers }) => headers['comanda-fence'])).toEqual(['1', '2', '3', '4', '5']);
    expect(target.seen[0]?.rawHeaders.filter((name) => name.toLowerCase() === 'idempotency-key')).toHaveLength(1);
  });

  it('H03: different keys stay different as header values, whatever characters they hold', async () => {
    const keys = ['a b', 'a%20b', 'ñ', '%C3%B1', 'line\nbreak', ' a b', '😀'];
    const target = await provider((response) => response.end());
    const effect = kind(target.url);
    for (const idempotencyKey of keys)
      expect(await effect.perform({}, attempt({ idempotencyKey }))).toMatchObject({ outcome: 'completed' });
    const sent = target.seen.map(({ headers }) => headers['idempotency-key'] as string);
    expect(sent).toEqual(['a%20b', 'a%2520b', '%C3%B1', '%25C3%25B1', 'line%0Abreak', '%20a%20b', '%F0%9F%98%80']);
    expect(sent.map(decodeURIComponent)).toEqual(keys);
  });

  it('takes another header name, none, other bodies, and leaves GET without one', async () => {
    const target = await provider((response) => response.end());
    const transport = loopback();
    await kind(target.url, { transport, idempotencyHeader: 'X-Request-Key' }).perform({}, attempt());
    await kind(target.url, { transport, idempotencyHeader: false }).perform({}, attempt());
    await kind(target.url, { transport, idempotency: 'natural' }).perform({}, attempt());
    const form = {
      url: target.url,
      body: 'amount=1',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    };
    await kind('', { transport, request: form }).perform({}, attempt());
    await kind('', { transport, request: { url: `${target.url}/x?y=1`, method: 'delete' } }).perform({}, attempt());
    await kind('', { transport, request: { url: target.url, body: null } }).perform({}, attempt());
    expect(target.seen.map(({ headers }) => [headers['x-request-key'], headers['idempotency-key']])).toEqual([
      ['refund:ORD-2041/issue_refund', undefined],
      [undefined, undefined],
      [undefined, undefined],
      [undefined, 'refund:ORD-2041/issue_refund'],
      [undefined, 'refund:ORD-2041/issue_refund'],
      [undefined, 'refund:ORD-2041/issue_refund'],
    ]);
    expect(target.seen[3]).toMatchObject({
      body: 'amount=1',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(target.seen[4]).toMatchObject({ method: 'DELETE', url: '/x?y=1', body: '' });
    expect(target.seen[4]?.headers).not.toHaveProperty('content-type');
    expect(target.seen[5]).toMatchObject({ method: 'POST', body: '', headers: { 'content-length': '0' } });
  });

  it.each([
    ['a relative URL', { url: '/x' }, 'the URL is not absolute'],
    ['another scheme', { url: 'file:///etc/passwd' }, 'the scheme file:'],
    ['a password in the URL', { url: 'https://user:pw@example.com/' }, 'send an Authorization header'],
    [
      'a line break in a header',
      { url: 'https://example.com/', headers: { a: 'b\r\nc: d' } },
      'the value of the header a',
    ],
    [
      'a framing header',
      { url: 'https://example.com/', headers: { 'Content-Length': '1' } },
      'is set by the transport',
    ],
    ['an odd header name', { url: 'https://example.com/', headers: { 'a b': '1' } }, '"a b" is not a header name'],
  ])('refuses %s', async (_, request, message) => {
    expect(() => kind('', { request })).toThrow(message);
    const outcome = await kind('', { request: () => request }).perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: 'retry', notSent: true, errorText: expect.stringContaining(message) });
  });
});

describe('the answer', () => {
  it('gives the provider’s identifier by pointer or function, without rounding', async () => {
    const target = await provider((response) => response.end('{"id": 1533947986218845197, "data": [{"a/b": "re_1"}]}'));
    const id = async (providerId: HttpEffectDefinition['providerId']) => {
      const outcome = await kind(target.url, providerId === undefined ? {} : { providerId }).perform({}, attempt());
      return outcome.providerId;
    };
    expect(await id('/id')).toBe('1533947986218845197');
    expect(await id('/data/0/a~1b')).toBe('re_1');
    expect(await id('/none/0')).toBeUndefined();
    expect(await id((response) => `s${response.status}`)).toBe('s200');
    expect(await id(() => JSON.parse('{'))).toBeUndefined();
    expect(await id(undefined)).toBeUndefined();
  });

  it('is judged by the success check of the kind', async () => {
    const target = await provider((response, { url }) => {
      response.writeHead(url === '/exists' ? 409 : 200).end(url === '/no' ? '{"ok":false}' : '{"ok":true}');
    });
    const success: HttpEffectDefinition['success'] = ({ status, json }) =>
      status === 409 || (json() as { ok: boolean }).ok;
    const outcome = (path: string, more: Partial<HttpEffectDefinition> = {}) =>
      kind(target.url + path, { success, ...more }).perform({}, attempt());
    expect(await outcome('/yes')).toMatchObject({ outcome: 'completed' });
    expect(await outcome('/exists')).toMatchObject({ outcome: 'completed', status: 409 });
    expect(await outcome('/no')).toMatchObject({ outcome: 'failed', errorClass: 'http_200_refused', status: 200 });
    const broken = () => JSON.parse('{');
    expect(await outcome('/yes', { success: broken })).toMatchObject({ outcome: 'retry', notSent: false });
    expect(await outcome('/yes', { success: broken, idempotency: 'none' })).toMatchObject({
      outcome: 'unknown',
      errorClass: 'success_check_threw',
    });
  });

  it('H16: 200 with an endless body is completed, cut, and the connection dropped', async () => {
    let written = 0;
    const block = Buffer.alloc(64 * 1024, 'x');
    const target = await provider((response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(block)) written += block.length;
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    });
    const outcome = await kind(target.url).perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: 'completed', status: 200 });
    expect(Buffer.byteLength(outcome.response ?? '')).toBeLessThanOrEqual(64 * 1024);
    await until(() => target.open() === 0);
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  it('H16: 500 with five megabytes of HTML keeps 64 KiB', async () => {
    const target = await provider((response) => response.writeHead(500).end(`<html>${'é'.repeat(2_500_000)}</html>`));
    const outcome = await kind(target.url).perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: 'retry', notSent: false, errorClass: 'http_500' });
    expect(Buffer.byteLength(outcome.response ?? '')).toBeLessThanOrEqual(64 * 1024);
  });

  it('H16: a body that drips and headers without a body end at the timeout', async () => {
    const target = await provider((response, { url }) => {
      response.writeHead(url.startsWith('/500') ? 500 : 200);
      response.flushHeaders();
      if (!url.endsWith('drip')) return;
      const timer = setInterval(() => response.write('.'), 10);
      response.on('close', () => clearInterval(timer));
    });
    const outcome = async (path: string, more: Partial<HttpEffectDefinition> = {}) => {
      const started = systemClock.monotonicMs();
      const result = await kind(target.url + path, { idempotency: 'none', ...more }).perform(
        {},
        attempt({ timeoutMs: 100 }),
      );
      expect(systemClock.monotonicMs() - started).toBeLessThan(2_000);
      return result;
    };
    expect(await outcome('/drip')).toMatchObject({ outcome: 'completed', response: expect.stringMatching(/^\.+$/) });
    expect(await outcome('/silent')).toMatchObject({ outcome: 'completed' });
    expect(await outcome('/500-drip')).toMatchObject({ outcome: 'unknown', errorClass: 'http_500' });
    const check = ({ text }: { text: string }) => text.endsWith('ok');
    expect(await outcome('/drip', { success: check })).toMatchObject({ outcome: 'unknown', errorClass: 'answer_cut' });
    await until(() => target.open() === 0);
  });

  it('a 2xx whose body breaks off is completed', async () => {
    const text = 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":"re_1"';
    const target = await peer((socket) =>
      socket.once('data', () => socket.write(text, () => socket.resetAndDestroy())),
    );
    expect(await kind(target.url).perform({}, attempt())).toMatchObject({ outcome: 'completed', status: 200 });
  });

  it('P01: holds nothing that PostgreSQL cannot store, and no compressed bytes', async () => {
    const target = await provider((response, { url }) => {
      response
        .writeHead(400, url === '/gzip' ? { 'content-encoding': 'gzip' } : {})
        .end(Buffer.from('a\0b\x1b[1m\xffc', 'latin1'));
    });
    expect((await kind(target.url).perform({}, attempt())).response).toBe('ab[1m\ufffdc');
    expect((await kind(`${target.url}/gzip`).perform({}, attempt())).response).toBe('[gzip, 9 bytes]');
  });
});

describe('S06: secrets', () => {
  const secret = 'sk_live_51H"x/y+z';
  const headers = { Authorization: `Bearer ${secret}`, 'X-Shop': 'shop-secret-7', Cookie: 'sid=cookie-secret' };
  const basic = `Basic ${Buffer.from('merchant:pass-word-1').toString('base64')}`;

  const decoded = (authorization = ''): string => Buffer.from(authorization.replace('Basic ', ''), 'base64').toString();

  it('of request headers and query never enter evidence or errors', async () => {
    const target = await provider((response, { url, headers: got }) => {
      if (url.startsWith('/silent')) return;
      if (url.startsWith('/reset')) return void response.socket?.resetAndDestroy();
      response
        .writeHead(401, { 'x-echo': String(got.authorization) })
        .end(
          `${JSON.stringify(got)} ${url} ${got.authorization} ${encodeURIComponent(secret)} ${decoded(got.authorization)} ${got.cookie}`,
        );
    });
    const transport = loopback();
    for (const path of ['/401', '/silent', '/reset']) {
      for (const authorization of [headers.Authorization, basic]) {
        const request = {
          url: `${target.url}${path}?api_key=query-secret`,
          headers: { ...headers, Authorization: authorization },
        };
        const outcome = await kind('', { transport, request }).perform({}, attempt({ timeoutMs: 150 }));
        const stored = JSON.stringify(outcome);
        for (const one of [
          secret,
          JSON.stringify(secret).slice(1, -1),
          'shop-secret',
          'cookie-secret',
          'query-secret',
          'pass-word-1',
          basic.slice(6),
        ]) {
          expect(stored, `${path} ${one}`).not.toContain(one);
        }
      }
    }
  });

  it('of a header that cannot be sent do not enter the error', async () => {
    const effect = kind('', {
      request: () => ({ url: 'https://example.com/', headers: { Authorization: `${secret}\n` } }),
    });
    expect(JSON.stringify(await effect.perform({}, attempt()))).not.toContain('sk_live');
    expect(() =>
      kind('', { request: { url: 'https://example.com/', headers: { Authorization: `${secret}\n` } } }),
    ).toThrow(/^(?!.*sk_live)/s);
  });

  it('of the payload do not enter evidence, at their path and wherever the provider repeats them', async () => {
    const payloadText = '{"customer": {"email": "ana@example.com", "card": 4242424242424242}}';
    const target = await provider((response) => {
      response
        .writeHead(400)
        .end('{"customer":{"email":"other@example.com"},"message":"ana@example.com has 4242424242424242"}');
    });
    const effect = kind(target.url, { redact: ['customer.email', 'customer.card'] });
    const outcome = await effect.perform({}, attempt({ payloadText }));
    expect(outcome.response).toBe('{"customer":{"email":"[redacted]"},"message":"[redacted] has [redacted]"}');
  });
});

describe('H12: addresses inside the network', () => {
  const inside = [
    'http://127.0.0.1',
    'http://127.1:8080/',
    'http://2130706433/',
    'http://0x7f.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://[64:ff9b::a00:1]/',
    'http://10.0.0.1/',
    'http://172.31.255.255/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
    'http://localhost/',
    'http://gateway.localhost./',
  ];
  const definition = { kind: 'k', risk: 'reversible', idempotency: 'key' } as const;

  it.each(inside)('%s is refused at configuration and at send time', async (url) => {
    expect(() => httpEffect({ ...definition, request: { url } })).toThrow(
      /is a private address; list it in allowPrivateAddresses/,
    );
    expect(() => httpEffectFromJson({ ...definition, url })).toThrow(/is a private address/);
    const outcome = await httpEffect({ ...definition, request: () => ({ url }) }).definition.perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: 'failed', errorClass: 'address_refused' });
  });

  it('a name that resolves to one is refused when it is resolved; nothing connects', async () => {
    const target = await provider((response) => response.end());
    const lookup = ((hostname: string, _: object, callback: (error: null, found: object[]) => void) => {
      callback(null, hostname === 'attacker.example' ? [{ address: '127.0.0.1', family: 4 }] : []);
    }) as unknown as NonNullable<HttpTransportOptions['lookup']>;
    const send = (transport: HttpTransport) => {
      const request = () => ({ url: `http://attacker.example:${target.port}/` });
      onTestFinished(() => transport.close());
      return httpEffect({ ...definition, request, transport }).definition.perform({}, attempt());
    };
    expect(await send(httpTransport({ lookup }))).toMatchObject({ outcome: 'failed', errorClass: 'address_refused' });
    expect(target.connections()).toBe(0);
    const allowed = httpTransport({ lookup, allowPrivateAddresses: ['attacker.example'] });
    expect(await send(allowed)).toMatchObject({ outcome: 'completed' });
  });

  it.each([[['127.0.0.1']], [['127.0.0.0/8']], [true as const]])('%j allows it', async (allowPrivateAddresses) => {
    const target = await provider((response) => response.end());
    const effect = httpEffect({ ...definition, request: { url: target.url }, allowPrivateAddresses });
    expect(await effect.definition.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
  });

  it('a host name allows what it resolves to, and only under that name', async () => {
    const target = await provider((response) => response.end());
    const allowPrivateAddresses = ['localhost'];
    const send = (host: string) =>
      httpEffect({
        ...definition,
        request: () => ({ url: `http://${host}:${target.port}/` }),
        allowPrivateAddresses,
      }).definition.perform({}, attempt());
    expect(await send('localhost')).toMatchObject({ outcome: 'completed' });
    expect(await send('127.0.0.1')).toMatchObject({ outcome: 'failed', errorClass: 'address_refused' });
  });

  it('an entry that is no network is named', () => {
    expect(() =>
      httpEffect({ ...definition, request: { url: 'https://example.com' }, allowPrivateAddresses: ['10.0.0.0/64'] }),
    ).toThrow("allowPrivateAddresses lists '10.0.0.0/64', which is neither a host name, an address nor a network");
  });
});

describe('provider stories', () => {
  it('H04: 409 while the first request is still at work is waited for', async () => {
    const target = await provider((response, _, index) => {
      if (index === 2) response.writeHead(409).end('{"error":"in progress"}');
      if (index === 3) response.end('{"id":"re_1"}');
    });
    const effect = kind(target.url, { providerId: '/id' });
    expect(await effect.perform({}, attempt({ timeoutMs: 80 }))).toMatchObject({ outcome: 'retry', notSent: false });
    const second = await effect.perform({}, attempt({ attempt: 2 }));
    expect(second).toMatchObject({
      outcome: 'retry',
      notSent: false,
      burnsAttempt: false,
      afterMs: 2_000,
      errorClass: 'http_409',
    });
    expect(await effect.perform({}, attempt({ attempt: 3 }))).toMatchObject({
      outcome: 'completed',
      providerId: 're_1',
    });
    expect(new Set(target.seen.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  });

  it('H14: a silent provider does not hold up another one', async () => {
    const silent = await provider(() => {});
    const healthy = await provider((response, _, index) => response.writeHead(index === 1 ? 500 : 200).end());
    const transport = loopback();
    const slow = kind(silent.url, { transport }).perform({}, attempt({ timeoutMs: 300 }));
    const effect = kind(healthy.url, { transport });
    expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'retry' });
    expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
    expect(await slow).toMatchObject({ outcome: 'retry', errorClass: 'timeout' });
  });

  it('a provider that comes back is used again', async () => {
    const port = await closedPort();
    const effect = kind(`http://127.0.0.1:${port}/`);
    expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'retry', notSent: true });
    expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'retry', notSent: true });
    const target = await provider((response) => response.end());
    const other = kind('', { request: () => ({ url: target.url }) });
    expect(await other.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
  });
});
