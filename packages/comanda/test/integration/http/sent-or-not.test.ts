import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/kernel/clock.js';
import type { EffectKind, Idempotency } from '../../../src/ports/effect-kind.js';
import type { HttpEffectDefinition } from '../../../src/transports/http/index.js';
import { httpEffect } from '../../../src/transports/http/index.js';
import { asRelay, attempt, closedPort, loopback, peer, provider, until } from './hostile-server.js';

const ALL: readonly Idempotency[] = ['key', 'natural', 'none'];

function kind(url: string, more: Partial<HttpEffectDefinition> = {}): EffectKind {
  return asRelay(
    httpEffect({
      kind: 'issue_refund',
      risk: 'irreversible',
      idempotency: 'key',
      onUnknown: 'ask-human',
      request: { url },
      ...(more.transport === undefined && more.allowPrivateAddresses === undefined ? { transport: loopback() } : {}),
      ...more,
    }),
  );
}

const notSent = { outcome: 'retry', notSent: true };
const afterSend = {
  key: { outcome: 'retry', notSent: false },
  natural: { outcome: 'retry', notSent: false },
  none: { outcome: 'unknown' },
};

describe('certainly not sent', () => {
  it.each(ALL)('connection refused (%s)', async (idempotency) => {
    const effect = kind(`http://127.0.0.1:${await closedPort()}/`, { idempotency });
    expect(await effect.perform({}, attempt())).toMatchObject({ ...notSent, errorClass: 'ECONNREFUSED' });
  });

  it.each(ALL)('name that does not resolve (%s)', async (idempotency) => {
    const effect = kind('http://no-such-host.invalid/', { idempotency });
    expect(await effect.perform({}, attempt())).toMatchObject({
      ...notSent,
      errorClass: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/),
    });
  });

  it.each(ALL)('a peer that does not speak TLS (%s)', async (idempotency) => {
    const target = await peer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    const effect = kind(`https://127.0.0.1:${target.port}/`, { idempotency });
    expect(await effect.perform({}, attempt())).toMatchObject(notSent);
  });

  it.each(ALL)('L15: the signal had fired before (%s)', async (idempotency) => {
    const target = await provider((response) => response.end());
    const effect = kind(target.url, { idempotency });
    const outcome = await effect.perform({}, attempt({ signal: AbortSignal.abort() }));
    expect(outcome).toMatchObject({ ...notSent, burnsAttempt: false, errorClass: 'aborted' });
    expect(target.connections()).toBe(0);
  });

  it.each(ALL)('P8: its moment had passed before it connected (%s)', async (idempotency) => {
    const target = await provider((response) => response.end());
    const effect = kind(target.url, { idempotency });
    const outcome = await effect.perform({}, attempt({ sendBy: systemClock.monotonicMs() - 1 }));
    expect(outcome).toMatchObject({ ...notSent, burnsAttempt: false, errorClass: 'send_by' });
    expect(target.connections()).toBe(0);
  });

  it.each(ALL)('P8: its moment passed while it connected: not one byte leaves (%s)', async (idempotency) => {
    // The process stands still between asking for the connection and having it.
    let looks = 0;
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => systemClock.monotonicMs() + (looks++ < 2 ? 0 : 3_600_000),
    };
    const target = await peer(() => {});
    const effect = kind(target.url, { idempotency, transport: loopback({ clock }) });
    expect(await effect.perform({}, attempt({ timeoutMs: 7_200_000 }))).toMatchObject({
      ...notSent,
      errorClass: 'send_by',
    });
    await until(() => target.connections() === 1 && target.open() === 0);
    expect(target.bytes()).toBe(0);
  });

  it('P8: its moment passes while TLS is not ready', async () => {
    const target = await peer(() => {});
    const effect = kind(`https://127.0.0.1:${target.port}/`, { idempotency: 'none' });
    const outcome = await effect.perform({}, attempt({ sendBy: systemClock.monotonicMs() + 60 }));
    expect(outcome).toMatchObject({ ...notSent, errorClass: 'send_by' });
    expect(outcome).not.toHaveProperty('burnsAttempt');
  });

  it('no connection within the timeout counts as an attempt, also when the relay says it first', async () => {
    const target = await peer(() => {});
    const effect = kind(`https://127.0.0.1:${target.port}/`, { idempotency: 'none' });
    const outcome = { ...notSent, errorClass: 'timeout', errorText: 'no connection within 60 ms' };
    expect(await effect.perform({}, attempt({ timeoutMs: 60 }))).toEqual(outcome);
    expect(await effect.perform({}, attempt({ timeoutMs: 60, signal: AbortSignal.timeout(20) }))).toEqual(outcome);
  });

  it('P8: a request that waits for a free connection leaves nothing when it is stopped', async () => {
    const held: (() => void)[] = [];
    const target = await provider((response) => held.push(() => response.end()));
    const effect = kind(target.url, { transport: loopback({ connections: 1 }) });
    const first = effect.perform({}, attempt());
    await until(() => target.seen.length === 1);
    const stop = new AbortController();
    const second = effect.perform({}, attempt({ signal: stop.signal }));
    const third = effect.perform({}, attempt({ sendBy: systemClock.monotonicMs() + 30 }));
    stop.abort();
    expect(await second).toMatchObject({ ...notSent, burnsAttempt: false });
    expect(await third).toMatchObject(notSent);
    held[0]?.();
    expect(await first).toMatchObject({ outcome: 'completed' });
    const fourth = effect.perform({}, attempt());
    await until(() => target.seen.length === 2);
    held[1]?.();
    expect(await fourth).toMatchObject({ outcome: 'completed' });
    expect(target.seen).toHaveLength(2);
  });

  it.each(ALL)('M04: the function that makes the request throws (%s)', async (idempotency) => {
    for (const thrown of [new Error('no amount'), undefined, 'text']) {
      const effect = kind('', {
        idempotency,
        request: () => {
          throw thrown;
        },
      });
      expect(await effect.perform({}, attempt())).toMatchObject({ ...notSent, errorClass: 'request_not_made' });
    }
  });

  it('a function that never makes its request ends with the signal', async () => {
    const effect = kind('', { request: () => new Promise(() => {}) });
    const stopped = attempt({ signal: AbortSignal.timeout(20), timeoutMs: 20 });
    expect(await effect.perform({}, stopped)).toMatchObject({ ...notSent, errorClass: 'timeout' });
    const stop = new AbortController();
    const outcome = effect.perform({}, attempt({ signal: stop.signal }));
    stop.abort();
    expect(await outcome).toMatchObject({ ...notSent, burnsAttempt: false, errorClass: 'aborted' });
  });

  it('a closed transport sends nothing and leaves the target to other relays', async () => {
    const target = await provider((response) => response.end());
    const transport = loopback();
    await transport.close();
    const outcome = await kind(target.url, { transport }).perform({}, attempt());
    expect(outcome).toMatchObject({ ...notSent, burnsAttempt: false, pausesTarget: 'here', afterMs: 60_000 });
  });
});

describe('sent, and no answer', () => {
  it.each(ALL)('H07: accepted and silent until the timeout (%s)', async (idempotency) => {
    const target = await provider(() => {});
    const outcome = await kind(target.url, { idempotency }).perform({}, attempt({ timeoutMs: 80 }));
    expect(outcome).toEqual({ ...afterSend[idempotency], errorClass: 'timeout', errorText: 'no answer within 80 ms' });
    expect(target.seen).toHaveLength(1);
  });

  it.each(ALL)('the connection is reset after the request (%s)', async (idempotency) => {
    const target = await peer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const outcome = await kind(target.url, { idempotency }).perform({}, attempt());
    expect(outcome).toMatchObject({ ...afterSend[idempotency], errorClass: 'ECONNRESET' });
    // And nothing was sent again behind our back.
    expect(target.connections()).toBe(1);
  });

  it.each(ALL)('the connection is closed after the request (%s)', async (idempotency) => {
    const target = await peer((socket) => socket.once('data', () => socket.end()));
    const outcome = await kind(target.url, { idempotency }).perform({}, attempt());
    expect(outcome).toMatchObject({ ...afterSend[idempotency], errorClass: 'connection_closed' });
    expect(target.connections()).toBe(1);
  });

  it.each(ALL)('GET, which other clients repeat by themselves, is not repeated either (%s)', async (idempotency) => {
    const target = await peer((socket) => socket.once('data', () => socket.destroy()));
    const outcome = await kind('', { idempotency, request: { url: target.url, method: 'GET' } }).perform({}, attempt());
    expect(outcome).toMatchObject(afterSend[idempotency]);
    expect(target.connections()).toBe(1);
  });

  it.each([
    ['not HTTP', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['an unasked 100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['an unasked upgrade', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['headers without end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`],
  ])('the answer is %s', async (_, text) => {
    const target = await peer((socket) => socket.once('data', () => socket.end(text)));
    expect(await kind(target.url, { idempotency: 'none' }).perform({}, attempt())).toMatchObject({
      outcome: 'unknown',
    });
  });

  it('an informational answer is not the answer', async () => {
    const text = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}';
    const target = await peer((socket) => socket.once('data', () => socket.end(text)));
    expect(await kind(target.url).perform({}, attempt())).toMatchObject({ outcome: 'completed', status: 201 });
  });

  it.each(ALL)('the relay stops it (%s)', async (idempotency) => {
    const target = await provider(() => {});
    const stop = new AbortController();
    const outcome = kind(target.url, { idempotency }).perform({}, attempt({ signal: stop.signal }));
    await until(() => target.seen.length === 1);
    stop.abort();
    expect(await outcome).toMatchObject({ ...afterSend[idempotency], errorClass: 'aborted' });
    await until(() => target.open() === 0);
  });
});

describe('connections', () => {
  it('are kept and used again by keyed kinds, one request at a time on each', async () => {
    let busy = 0;
    let most = 0;
    const target = await provider((response) => {
      most = Math.max(most, ++busy);
      setImmediate(() => {
        busy--;
        response.end();
      });
    });
    const effect = kind(target.url, { transport: loopback({ connections: 4 }) });
    const outcomes = await Promise.all(Array.from({ length: 200 }, () => effect.perform({}, attempt())));
    expect(outcomes.every(({ outcome }) => outcome === 'completed')).toBe(true);
    expect(target.connections()).toBeLessThanOrEqual(4);
    expect(most).toBeLessThanOrEqual(4);
    expect(target.seen).toHaveLength(200);
  });

  it('are used once by kinds without key, so that a provider closing an idle one makes nothing uncertain', async () => {
    const target = await provider((response) => response.end());
    const effect = kind(target.url, { idempotency: 'none' });
    for (let n = 0; n < 5; n++) expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
    expect(target.connections()).toBe(5);
    expect(target.seen.every(({ headers }) => headers.connection === 'close')).toBe(true);
  });

  it('that the provider closed while idle are noticed before the next request', async () => {
    const target = await peer((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        setImmediate(() => socket.end());
      }),
    );
    const effect = kind(target.url);
    for (let n = 1; n <= 5; n++) {
      expect(await effect.perform({}, attempt())).toMatchObject({ outcome: 'completed' });
      await until(() => target.open() === 0);
    }
  });
});
