import { describe, expect, it } from 'vitest';
import type { Idempotency } from '../../../src/ports/effect-kind.js';
import type { Outcome } from '../../../src/ports/outcome.js';
import { HTTP_CLASSIFICATION, type HttpEffectDefinition, httpEffect } from '../../../src/transports/http/index.js';
import { attempt, closedPort, loopback, type Provider, peer, provider } from './hostile-server.js';

/** Executes one attempt of a kind with this class, against what the scenario started. */
type Execute = (more: Partial<HttpEffectDefinition>, context?: Parameters<typeof attempt>[0]) => Promise<Outcome>;

interface Scenario {
  readonly row: string;
  readonly name: string;
  /** Provokes it; ends by executing one attempt. */
  readonly provoke: (execute: Execute, idempotency: Idempotency) => Promise<Outcome>;
  readonly expected: Readonly<Record<Idempotency, object>>;
  /** What the evidence holds, for every class. */
  readonly evidence?: object;
}

const always = (expected: object) => ({ key: expected, natural: expected, none: expected });
const failed = { outcome: 'failed' };
const notSent = { outcome: 'retry', notSent: true };
const givenBack = { ...notSent, burnsAttempt: false };
const again = { outcome: 'retry', notSent: false };
const uncertain = { key: again, natural: again, none: { outcome: 'unknown' } };
const patience = { ...givenBack, pausesTarget: true };

const to = (target: Pick<Provider, 'url'>): Partial<HttpEffectDefinition> => ({ request: { url: target.url } });

const status = (row: string, code: number, expected: Scenario['expected'], headers: Record<string, string> = {}) => ({
  row,
  name: `${code} ${JSON.stringify(headers)}`,
  expected,
  evidence: { status: code },
  provoke: async (execute: Execute) =>
    await execute(to(await provider((response) => response.writeHead(code, headers).end()))),
});

/** A peer that reads the request, answers with these bytes, and then does as told. */
const bytes = (row: string, name: string, text: string, then: 'end' | 'reset' | 'stay', more: object = {}) => ({
  row,
  name,
  provoke: async (execute: Execute) => {
    const target = await peer((socket) =>
      socket.once('data', () => {
        const finish = (): void => {
          if (then === 'end') socket.end();
          if (then === 'reset') socket.resetAndDestroy();
        };
        if (text === '') finish();
        else socket.write(text, finish);
      }),
    );
    const outcome = await execute({ ...to(target), ...more }, { timeoutMs: 400 });
    // Nothing is sent a second time behind our back.
    expect(target.connections()).toBe(1);
    return outcome;
  },
});

/** Sends a byte now and then, for ever. */
const drip = (row: string, name: string, head: string) => ({
  row,
  name,
  provoke: async (execute: Execute) => {
    const target = await peer((socket) => {
      socket.once('data', () => {
        socket.write(head);
        const timer = setInterval(() => socket.write('x'), 20);
        socket.on('close', () => clearInterval(timer));
      });
    });
    return await execute(to(target), { timeoutMs: 150 });
  },
});

const date = 'Sun, 06 Nov 1994 08:49:30 GMT';
const inAWhile = { date, 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' };
const whole = 'HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n';

const SCENARIOS: readonly Scenario[] = [
  {
    row: 'address-refused',
    name: 'a private address that is not allowed',
    expected: always(failed),
    evidence: { errorClass: 'address_refused' },
    provoke: async (execute) => {
      const target = await provider((response) => response.end());
      const outcome = await execute({ request: () => ({ url: target.url }), allowPrivateAddresses: [] });
      expect(target.connections()).toBe(0);
      return outcome;
    },
  },
  {
    row: 'unfit',
    name: 'the place of the key is taken',
    expected: always(failed),
    evidence: { errorClass: 'validation' },
    provoke: async (execute) => {
      const target = await provider((response) => response.end());
      const inBody = { idempotency: { mode: 'key', carrier: { body: '/amount' } } } as const;
      const outcome = await execute({ ...to(target), ...inBody });
      expect(target.connections()).toBe(0);
      return outcome;
    },
  },
  {
    row: 'not-made',
    name: 'the function throws',
    expected: always(notSent),
    evidence: { errorClass: 'request_not_made', errorText: 'no amount' },
    provoke: (execute) => execute({ request: () => Promise.reject(new Error('no amount')) }),
  },
  {
    row: 'unusable',
    name: 'a closed transport',
    // The fault is of this process: only this relay leaves the target alone.
    expected: always({ ...patience, pausesTarget: 'here', afterMs: 60_000 }),
    provoke: async (execute) => {
      const transport = loopback();
      await transport.close();
      return await execute({ request: { url: 'http://127.0.0.1/' }, transport });
    },
  },
  {
    row: 'released',
    name: 'stopped before the first byte',
    expected: always(givenBack),
    provoke: async (execute) =>
      await execute(to(await provider((response) => response.end())), { signal: AbortSignal.abort() }),
  },
  {
    row: 'not-sent',
    name: 'refused',
    expected: always(notSent),
    evidence: { errorClass: 'ECONNREFUSED' },
    provoke: async (execute) => await execute({ request: { url: `http://127.0.0.1:${await closedPort()}/` } }),
  },
  {
    row: 'not-sent',
    name: 'a name that does not resolve',
    expected: always(notSent),
    evidence: { errorClass: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/) },
    provoke: (execute) => execute({ request: { url: 'http://no-such-host.invalid/' } }),
  },
  {
    row: 'not-sent',
    name: 'TLS fails: no certificate, plain text instead',
    expected: always(notSent),
    provoke: async (execute) => {
      const target = await peer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
      return await execute({ request: { url: `https://127.0.0.1:${target.port}/` } });
    },
  },
  {
    row: 'not-sent',
    name: 'reset before the request, in the TLS handshake',
    expected: always(notSent),
    evidence: { errorClass: 'ECONNRESET' },
    provoke: async (execute) => {
      const target = await peer((socket) => socket.once('data', () => socket.resetAndDestroy()));
      return await execute({ request: { url: `https://127.0.0.1:${target.port}/` } });
    },
  },
  {
    row: 'not-sent',
    name: 'no connection in time',
    expected: always(notSent),
    evidence: { errorClass: 'timeout' },
    provoke: async (execute) => {
      const target = await peer(() => {});
      return await execute({ request: { url: `https://127.0.0.1:${target.port}/` } }, { timeoutMs: 60 });
    },
  },
  { ...bytes('no-answer', 'silence', '', 'stay'), expected: uncertain, evidence: { errorClass: 'timeout' } },
  { ...bytes('no-answer', 'reset after the request', '', 'reset'), expected: uncertain },
  { ...bytes('no-answer', 'closed after the request', '', 'end'), expected: uncertain },
  { ...bytes('no-answer', 'headers cut off', 'HTTP/1.1 200 OK\r\ncontent-le', 'end'), expected: uncertain },
  { ...bytes('no-answer', 'no HTTP', 'SSH-2.0-OpenSSH\r\n\r\n', 'end'), expected: uncertain },
  {
    ...bytes('no-answer', 'two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', 'end'),
    expected: uncertain,
  },
  {
    ...bytes(
      'no-answer',
      'headers without end',
      `HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1_000)}\r\n`.repeat(100)}`,
      'end',
    ),
    expected: uncertain,
    evidence: { errorClass: 'protocol_error' },
  },
  {
    ...drip('no-answer', 'slow headers', 'HTTP/1.1 200 OK\r\nx: '),
    expected: uncertain,
    evidence: { errorClass: 'timeout' },
  },
  {
    ...bytes('no-answer', 'cut before it could be judged', `${whole}{"sta`, 'reset', { success: () => false }),
    expected: uncertain,
    evidence: { errorClass: 'answer_cut' },
  },
  {
    ...bytes('no-answer', 'a check that cannot read it', `${whole}{"status":"x`, 'end', {
      success: () => JSON.parse('{'),
    }),
    expected: uncertain,
  },
  {
    ...bytes('refused-by-check', 'a check that says no', `${whole}{"ok": false}`, 'end', { success: () => false }),
    expected: always(failed),
    evidence: { errorClass: 'http_200_refused', status: 200 },
  },
  ...[200, 201, 202, 204, 299].map((code) => status('2xx', code, always({ outcome: 'completed' }))),
  {
    ...bytes('2xx', 'a truncated body', `${whole}{"id":"re_1`, 'reset'),
    expected: always({ outcome: 'completed' }),
    evidence: { status: 200 },
  },
  {
    ...drip('2xx', 'a slow body', 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n'),
    expected: always({ outcome: 'completed' }),
  },
  {
    row: '2xx',
    name: 'an oversized body',
    expected: always({ outcome: 'completed' }),
    provoke: async (execute) => {
      const target = await provider((response) => response.end('x'.repeat(3_000_000)));
      const outcome = await execute(to(target));
      expect(Buffer.byteLength(outcome.response ?? '')).toBeLessThanOrEqual(64 * 1024);
      return outcome;
    },
  },
  ...[300, 301, 302, 303, 304, 307, 308].map((code) => ({
    row: '3xx',
    name: `H10: ${code} to another place`,
    expected: always(failed),
    evidence: { status: code, errorText: `redirect refused (HTTP ${code})` },
    provoke: async (execute: Execute) => {
      const other = await provider((response) => response.end('logged in'));
      const target = await provider((response, { url }) =>
        response.writeHead(url === '/login' ? 200 : code, { location: code === 302 ? '/login' : other.url }).end(),
      );
      const outcome = await execute(to(target));
      expect([other.connections(), target.seen.map(({ url }) => url)]).toEqual([0, ['/']]);
      return outcome;
    },
  })),
  // What becomes of the target is the matter of the rows themselves; here: nothing was done, and it is tried again.
  status('401', 401, always(notSent)),
  status('403', 403, always(notSent)),
  status('retry-after', 429, always({ ...patience, afterMs: 5_000 }), { 'retry-after': '5' }),
  status('retry-after', 429, always({ ...patience, afterMs: 7_000 }), inAWhile),
  status('retry-after', 503, always({ ...patience, afterMs: 3_600_000 }), { 'retry-after': '99999999999' }),
  status('retry-after', 503, always({ ...patience, afterMs: 7_000 }), inAWhile),
  status('429', 429, always({ ...notSent, afterMs: 4_000 })),
  ...['soon', '-5', '1e3', '5, 7', 'NaN', 'Sun, 99 Nov 1994 08:49:37 GMT'].map((nonsense) =>
    status('429', 429, always({ ...notSent, afterMs: 4_000 }), { 'retry-after': nonsense }),
  ),
  {
    ...status('409-in-progress', 409, {
      key: { ...again, burnsAttempt: false, afterMs: 4_000 },
      natural: failed,
      none: { outcome: 'unknown' },
    }),
    name: 'H04: a target that says so by 409',
    // Natural and none: the key of this attempt may be forgotten by now.
    provoke: async (execute) =>
      await execute({ ...to(await provider((response) => response.writeHead(409).end())), idempotency: 'key' }),
  },
  {
    ...status('409', 409, always(failed)),
    provoke: async (execute, idempotency) =>
      await execute({
        ...to(await provider((response) => response.writeHead(409).end())),
        idempotency: idempotency === 'key' ? { mode: 'key', conflict: 'failed' } : idempotency,
      }),
  },
  status('422', 422, always(failed)),
  ...[408, 425, 500, 501, 502, 503, 504, 507, 599].map((code) => status('5xx', code, uncertain)),
  status('5xx', 503, uncertain, { 'retry-after': 'tomorrow' }),
  status('5xx', 500, uncertain, { 'retry-after': '5' }),
  ...[400, 402, 404, 405, 406, 410, 412, 413, 415, 418, 423, 428, 431, 451, 499].map((code) =>
    status('4xx', code, always(failed)),
  ),
  {
    row: '4xx',
    name: 'S06, P01: a hostile text of an error',
    expected: always(failed),
    evidence: { status: 400 },
    provoke: async (execute) => {
      const text = `\0\x1b[2J\u202e"}]',--; drop table effect;${'\u{1f4a3}'.repeat(50_000)}\ud800 Bearer sk_live_51HxyzAbCdEf0123`;
      const target = await provider((response) => response.writeHead(400, 'No\twell').end(text));
      const outcome = await execute(to(target));
      const stored = JSON.stringify(outcome);
      expect(outcome.response).not.toMatch(/[\0\x1b]|\p{Surrogate}/u);
      expect(stored).not.toContain('sk_live_51');
      expect(Buffer.byteLength(outcome.response ?? '')).toBeLessThanOrEqual(64 * 1024);
      return outcome;
    },
  },
  ...[600, 799, 999].map((code) => status('other', code, uncertain)),
];

describe('every row of the classification, for each class, through a real socket', () => {
  for (const { row, name, provoke, expected, evidence } of SCENARIOS) {
    it.each(['key', 'natural', 'none'] as const)(`${row}: ${name} (%s)`, async (idempotency) => {
      const execute: Execute = async (more, context = {}) => {
        const { definition } = httpEffect({
          kind: 'issue_refund',
          risk: 'irreversible',
          idempotency,
          onUnknown: 'ask-human',
          request: { url: 'http://127.0.0.1/' },
          ...(more.allowPrivateAddresses === undefined ? { transport: loopback() } : {}),
          ...more,
        });
        return await definition.perform({}, attempt({ attempt: 3, ...context, idempotency }));
      };
      const outcome = await provoke(execute, idempotency);
      expect(outcome).toMatchObject({ ...expected[idempotency], ...evidence });
      for (const flag of row === '401' || row === '403' ? [] : ['burnsAttempt', 'pausesTarget', 'afterMs', 'notSent']) {
        const wanted: unknown = Reflect.get(expected[idempotency], flag);
        expect([flag, Reflect.get(outcome, flag)]).toEqual([flag, wanted]);
      }
    });
  }

  it('and no row is left out', () => {
    const tested = new Set(SCENARIOS.map(({ row }) => row));
    expect(HTTP_CLASSIFICATION.map(({ id }) => id).filter((id) => !tested.has(id))).toEqual([]);
    expect([...tested].filter((row) => !HTTP_CLASSIFICATION.some(({ id }) => id === row))).toEqual([]);
  });
});
