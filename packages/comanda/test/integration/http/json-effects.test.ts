import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonLossless } from '../../../src/kernel/json-parse.js';
import type { EffectKind } from '../../../src/ports/effect-kind.js';
import { type HttpEffectJson, httpEffectFromJson } from '../../../src/transports/http/index.js';
import { asRelay, attempt, closedPort, loopback, provider } from './hostile-server.js';

const ref = (name: string): string => `\${env:${name}}`;

function kind(spec: Partial<HttpEffectJson>, variables: Record<string, string> = {}): EffectKind {
  const full = {
    kind: 'issue_refund',
    risk: 'irreversible',
    idempotency: 'key',
    url: 'http://127.0.0.1/',
    onUnknown: 'ask-human',
    ...spec,
  };
  return asRelay(httpEffectFromJson(JSON.parse(JSON.stringify(full)), { variables, transport: loopback() }));
}

const send = (effect: EffectKind, payloadText: string, more: Parameters<typeof attempt>[0] = {}) =>
  effect.perform(parseJsonLossless(payloadText), attempt({ payloadText, ...more }));

describe('placeholders', () => {
  it('are filled from the payload, encoded for their place, with every digit', async () => {
    const target = await provider((response) => response.end());
    const effect = kind({
      url: `${target.url}/orders/{/order/id}/refunds?amount={/amount}&for={#subject}&k={#key}&first={/lines/0/a~1b}`,
      headers: { 'X-Note': 'order {/order/id}: {/note}', 'X-Whole': '{/whole}' },
    });
    const payloadText =
      '{"order": {"id": 1533947986218845197}, "amount": 2154.00, "note": "ñ, 50% {x}", "whole": true, "lines": [{"a/b": "á b"}]}';
    expect(await send(effect, payloadText)).toMatchObject({ outcome: 'completed' });
    expect(target.seen[0]).toMatchObject({
      method: 'POST',
      url: '/orders/1533947986218845197/refunds?amount=2154.00&for=order%3AORD-2041&k=refund%3AORD-2041%2Fissue_refund&first=%C3%A1%20b',
      body: payloadText,
    });
    expect(target.seen[0]?.headers).toMatchObject({
      'x-note': 'order 1533947986218845197: ñ, 50% {x}',
      'x-whole': 'true',
    });
  });

  it('whatever a payload holds, it stays in its place', async () => {
    const target = await provider((response) => response.end());
    const effect = kind({ url: `${target.url}/a/{/x}/b?q={/x}&r=1`, headers: { 'X-Value': '<{/y}>' } });
    const hostile = [
      '/',
      '?',
      '#',
      '&',
      '=',
      '%2f',
      '%',
      '\\',
      '..',
      '@',
      ':',
      ' ',
      '\r\n',
      '\t',
      ';',
      '+',
      '\u2028',
      'é',
      '😀',
      '{/y}',
      'a',
    ];
    const text = fc.array(fc.constantFrom(...hostile), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, text, async (x, y) => {
        const before = target.seen.length;
        const payloadText = JSON.stringify({ x, y });
        const outcome = await send(effect, payloadText);
        const sent = target.seen.slice(before);
        if (outcome.outcome === 'failed') {
          expect([outcome.errorClass, sent]).toEqual(['validation', []]);
          expect(/^\.{1,2}$/.test(x) || /[^\t\x20-\x7e\x80-\xff]/u.test(y), `${x} ${y}`).toBe(true);
          return;
        }
        const [path = '', query = ''] = sent[0]?.url.split('?') ?? [];
        const segments = path.split('/');
        expect([segments.length, segments[1], segments[3]]).toEqual([4, 'a', 'b']);
        expect(decodeURIComponent(segments[2] ?? '')).toBe(x);
        expect([...new URLSearchParams(query)]).toEqual([
          ['q', x],
          ['r', '1'],
        ]);
        expect(sent[0]?.rawHeaders.filter((_, i) => i % 2 === 0)).not.toContain('c');
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['{}', 'the payload has no value at /order; nothing was sent'],
    ['{"order": null}', 'the payload has null at /order, expected a text, a number, true or false; nothing was sent'],
    [
      '{"order": {}}',
      'the payload has an object at /order, expected a text, a number, true or false; nothing was sent',
    ],
    ['{"order": [1]}', 'the payload has a list at /order, expected a text, a number, true or false; nothing was sent'],
    ['{"order": ""}', 'the value at /order is empty, which would change the path; nothing was sent'],
    [
      '{"order": ".."}',
      "a value would make '.' or '..' a part of the path, which would lead elsewhere; nothing was sent",
    ],
    ['{"order": "%2E."}', undefined],
    [
      '{"order": "1", "note": "a\\r\\nx: y"}',
      'the value at /note holds a character that a header cannot carry (a line break, another control character, or one beyond Latin-1); nothing was sent',
    ],
  ])('%s: the request is not made, and the place is named, already at claim', async (payloadText, problem) => {
    const target = await provider((response) => response.end());
    const effect = kind({ url: `${target.url}/orders/{/order}`, headers: { 'X-Note': '{/note}' } });
    const whole = payloadText.includes('note')
      ? payloadText
      : payloadText.replace(/^\{/, '{"note": "n", ').replace(', }', '}');
    const wrong = problem === undefined ? [] : [problem];
    expect(await effect.validate?.(parseJsonLossless(whole))).toEqual(wrong);
    expect(await send(effect, whole)).toMatchObject(
      problem === undefined
        ? { outcome: 'completed' }
        : { outcome: 'failed', errorClass: 'validation', errorText: problem },
    );
    expect(target.connections()).toBe(problem === undefined ? 1 : 0);
  });

  it('of a decision without subject have no value', async () => {
    const target = await provider((response) => response.end());
    const effect = kind({ url: `${target.url}/{#subject}` });
    expect(await send(effect, '{}', { subject: '' })).toMatchObject({
      outcome: 'failed',
      errorText: '{#subject} has no value: the decision names no subject; nothing was sent',
    });
  });

  it('of the look-up are checked before anything is sent', async () => {
    const reconcile = { request: { url: 'https://x.example/{/ref}' }, applied: { status: 200 } };
    const effect = kind({ url: 'https://x.example/{/id}', reconcile });
    expect(await effect.validate?.({ id: 1 })).toEqual(['the payload has no value at /ref; nothing was sent']);
    expect(await effect.validate?.({ id: 1, ref: 'a' })).toEqual([]);
    expect(kind({ url: 'https://x.example/' }).validate).toBeUndefined();
  });
});

describe('success', () => {
  const success = { status: ['2xx', 409], pointer: '/status', equals: 'ok' };
  it.each([
    [200, '{"status":"ok"}', { outcome: 'completed' }],
    [409, '{"status":"ok"}', { outcome: 'completed', status: 409 }],
    [200, '{"status":"refused"}', { outcome: 'failed', errorClass: 'http_200_refused' }],
    [200, '{"state":"ok"}', { outcome: 'unknown', errorClass: 'success_check_threw' }],
    [200, '<html>welcome</html>', { outcome: 'unknown' }],
    [404, '{"status":"ok"}', { outcome: 'failed', errorClass: 'http_404' }],
    [500, '{"status":"ok"}', { outcome: 'unknown', errorClass: 'http_500' }],
  ])('%i %s', async (code, body, expected) => {
    const target = await provider((response) => response.writeHead(code).end(body));
    expect(await send(kind({ url: target.url, idempotency: 'none', success }), '{}')).toMatchObject(expected);
  });

  it('compares texts, numbers, booleans and null by what they are', async () => {
    const target = await provider((response) => response.end('{"a":1,"b":"1","c":null,"d":9007199254740993,"e":true}'));
    const says = async (pointer: string, equals: string | number | boolean | null) =>
      (await send(kind({ url: target.url, success: { pointer, equals } }), '{}')).outcome;
    const answers = await Promise.all([
      says('/a', 1),
      says('/a', '1'),
      says('/b', '1'),
      says('/c', null),
      says('/d', 9007199254740991),
      says('/e', true),
    ]);
    expect(answers).toEqual(['completed', 'failed', 'completed', 'completed', 'failed', 'completed']);
  });
});

describe('look-ups', () => {
  const reconcile = (url: string): NonNullable<HttpEffectJson['reconcile']> => ({
    request: { url: `${url}/refunds/{/order}?key={#key}`, headers: { 'X-Order': '{/order}' } },
    applied: { status: 200, pointer: '/status', equals: 'succeeded' },
    absent: { status: [404, 410] },
    providerId: '/id',
  });
  const lookUp = (url: string, payloadText = '{"order": 7}', more: Partial<HttpEffectJson> = {}) =>
    kind({ url, idempotency: 'none', reconcile: reconcile(url), ...more }).reconcile?.(
      parseJsonLossless(payloadText),
      attempt({ payloadText, fence: '9', timeoutMs: 150 }),
    );

  it.each([
    [200, '{"status":"succeeded","id":12}', { found: 'applied', providerId: '12', status: 200 }],
    [200, '{"status":"pending"}', { found: 'cannotTell', status: 200 }],
    [200, 'moved to another page', { found: 'cannotTell' }],
    [404, '', { found: 'absent', status: 404 }],
    [410, '', { found: 'absent' }],
    [302, '', { found: 'cannotTell' }],
    [401, '', { found: 'cannotTell' }],
    [429, '', { found: 'cannotTell' }],
    [500, '{"status":"succeeded"}', { found: 'cannotTell' }],
  ])('%i %s', async (code, body, expected) => {
    const target = await provider((response) => response.writeHead(code, { location: '/login' }).end(body));
    expect(await lookUp(target.url)).toMatchObject(expected);
    expect(target.seen).toHaveLength(1);
    expect(target.seen[0]).toMatchObject({
      method: 'GET',
      url: '/refunds/7?key=refund%3AORD-2041%2Fissue_refund',
      body: '',
      headers: { 'x-order': '7', 'comanda-fence': '9' },
    });
  });

  it('what both conditions accept, and what cannot be asked, cannot be told', async () => {
    const target = await provider((response) => response.end('{"status":"succeeded"}'));
    const both = { ...reconcile(target.url), absent: { status: 200 } };
    expect(await lookUp(target.url, '{"order": 7}', { reconcile: both })).toMatchObject({ found: 'cannotTell' });
    expect(await lookUp(target.url, '{}')).toMatchObject({ found: 'cannotTell', errorClass: 'validation' });
    expect(await lookUp(`http://127.0.0.1:${await closedPort()}`)).toMatchObject({ found: 'cannotTell' });
    const silent = await provider(() => {});
    expect(await lookUp(silent.url)).toMatchObject({ found: 'cannotTell', errorClass: 'timeout' });
  });

  it('without absent nothing is believed absent; the identifier is the effect’s own unless said otherwise', async () => {
    const target = await provider((response, { url }) =>
      response.writeHead(url.includes('/8') ? 404 : 200).end('{"id":"re_1"}'),
    );
    const { request } = reconcile(target.url);
    const more = { reconcile: { request, applied: { status: '2xx' } }, providerId: '/id' } as const;
    expect(await lookUp(target.url, '{"order": 8}', more)).toMatchObject({ found: 'cannotTell' });
    expect(await lookUp(target.url, '{"order": 7}', more)).toMatchObject({ found: 'applied', providerId: 're_1' });
  });
});

describe('S06: variables of the environment', () => {
  // Whole, as a part, and in a header that is otherwise not taken for a secret.
  const variables = { KEY: 'sk"live/51H+x y%z', PART: 'part<secret>', AGENT: 'agent{secret}' };
  const headers = {
    Authorization: `Bearer ${ref('KEY')}`,
    'X-Part': `a-${ref('PART')}-z`,
    'User-Agent': `shop ${ref('AGENT')}`,
  };
  const forms = Object.values(variables).flatMap((value) => [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
  ]);

  it('never enter evidence, errors or identifiers, whatever a server does with them', async () => {
    const target = await provider((response, { url, headers: got }) => {
      if (url.startsWith('/silent')) return;
      if (url.startsWith('/reset')) return void response.socket?.resetAndDestroy();
      if (url.startsWith('/garbage')) return void response.socket?.end(`HTTP/1.1 ${got.authorization} no\r\n\r\n`);
      const values = [
        got.authorization?.replace('Bearer ', ''),
        String(got['x-part']).replace(/^a-|-z$/g, ''),
        got['user-agent']?.replace('shop ', ''),
      ];
      const id = values[Number(url.split('=')[1])];
      response
        .writeHead(url.startsWith('/400') ? 400 : 200, { 'x-echo': encodeURIComponent(String(id)) })
        .end(JSON.stringify({ id, values, text: values.map((value) => encodeURIComponent(String(value))).join(' ') }));
    });
    const stored: string[] = [];
    for (const path of ['/ok', '/400', '/silent', '/reset', '/garbage']) {
      for (const n of [0, 1, 2]) {
        const effect = kind(
          {
            url: `${target.url}${path}/{/id}?n=${n}`,
            headers,
            providerId: '/id',
            reconcile: {
              request: { url: `${target.url}/look/{/id}?n=${n}`, headers },
              applied: { status: 200 },
              ...(n === 0 ? {} : { providerId: '/id' }),
            },
          },
          variables,
        );
        const timeoutMs = path === '/silent' ? 150 : 5_000;
        stored.push(JSON.stringify(await send(effect, '{"id": 1}', { timeoutMs })));
        stored.push(JSON.stringify(await send(effect, '{}')));
        stored.push(JSON.stringify(await effect.reconcile?.({ id: 1 }, attempt({ payloadText: '{"id": 1}' }))));
      }
    }
    expect(target.seen[0]?.headers).toMatchObject({
      authorization: `Bearer ${variables.KEY}`,
      'x-part': `a-${variables.PART}-z`,
      'user-agent': `shop ${variables.AGENT}`,
    });
    for (const text of stored) for (const form of forms) expect(text).not.toContain(form);
    expect(stored[0]).toContain('"providerId":"[redacted]"');
    expect(stored[2]).toContain('"providerId":"[redacted]"');
  });
});
