import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/kernel/clock.js';
import { type Act, attempt, drop, hostileSmtp, kind, last, type Moment, silence } from './hostile-smtp.js';

const notSent = { outcome: 'retry', notSent: true };
/** More than the buffers of two sockets hold, so that the end of the message cannot have left when the server stops reading. */
const LARGE = { text: 'A bag of coffee from Huila, washed, roasted on Tuesday.\n'.repeat(250_000) };

const before: readonly Moment[] = ['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA'];

describe('B11: before the end of the message has left, nothing was sent', () => {
  it.each(before)('cut at %s', async (moment) => {
    const server = await hostileSmtp({ [moment]: drop });
    expect(await kind(server).perform({}, attempt())).toMatchObject(notSent);
    expect(server.messages).toEqual([]);
  });

  it.each(before)('cut at %s, commands in one batch', async (moment) => {
    const server = await hostileSmtp({ EHLO: '250-mx.test\r\n250 PIPELINING', [moment]: drop });
    expect(await kind(server).perform({}, attempt())).toMatchObject(notSent);
    expect(server.messages).toEqual([]);
  });

  it.each(before)('silent at %s until the timeout', async (moment) => {
    const server = await hostileSmtp({ [moment]: silence });
    const outcome = await kind(server).perform({}, attempt({ timeoutMs: 300 }));
    expect(outcome).toMatchObject({ ...notSent, errorClass: expect.stringMatching(/^(timeout|ETIMEDOUT)$/) });
    expect(server.messages).toEqual([]);
    expect(server.accepted()).toBe(0);
  });

  it.each(before)('421 at %s', async (moment) => {
    const server = await hostileSmtp({
      [moment]: last('421 4.3.2 shutting down\r\n'),
    });
    expect(await kind(server).perform({}, attempt())).toMatchObject({ ...notSent, status: 421 });
  });

  it('cut in the middle of the body', async () => {
    const server = await hostileSmtp({ body: drop });
    expect(await kind(server, {}, LARGE).perform({}, attempt())).toMatchObject(notSent);
    expect(server.messages).toEqual([]);
  });

  it('a server that stops reading the body, until the timeout', async () => {
    const server = await hostileSmtp({ body: pause });
    const outcome = await kind(server, {}, LARGE).perform({}, attempt({ timeoutMs: 4_000 }));
    expect(outcome).toMatchObject({ ...notSent, errorClass: 'timeout', errorText: expect.stringMatching(/^body: /) });
  });

  it('a greeting that drips byte by byte ends with the timeout', async () => {
    const server = await hostileSmtp({ greeting: drip });
    const started = systemClock.monotonicMs();
    expect(await kind(server).perform({}, attempt({ timeoutMs: 400 }))).toMatchObject(notSent);
    expect(systemClock.monotonicMs() - started).toBeLessThan(3_000);
  });

  it.each(['greeting', 'EHLO', 'RCPT'] as const)('an endless answer at %s is not read for ever', async (moment) => {
    const server = await hostileSmtp({ [moment]: flood });
    const outcome = await kind(server).perform({}, attempt());
    expect(outcome).toMatchObject({ ...notSent, errorText: expect.stringContaining('exceeds maximum') });
  });
});

describe('B11: after it may have left, only an answer says what happened', () => {
  it.each([
    ['cut', drop],
    ['silent until the timeout', silence],
    ['half an acceptance', last('25')],
    ['an acceptance without its line end', last('250 2.0.0 Ok')],
    ['a refusal without its line end', last('451 4.3.0 lat')],
    ['an acceptance whose other lines never come', last('250-2.0.0 Ok\r\n')],
    ['something that is not SMTP', 'HTTP/1.1 200 OK'],
    ['another 354', '354 go on'],
    ['an endless answer', flood],
  ] satisfies [string, Act | string][])('%s: unknown', async (_, dot) => {
    const server = await hostileSmtp({ dot });
    expect(await kind(server).perform({}, attempt({ timeoutMs: 1_000 }))).toMatchObject({ outcome: 'unknown' });
    expect(server.messages).toHaveLength(1);
  });

  it('cut after 354 with a small message, which leaves in one piece: unknown', async () => {
    const server = await hostileSmtp({ DATA: goAndDrop });
    expect(await kind(server).perform({}, attempt())).toMatchObject({ outcome: 'unknown' });
  });

  it('an acceptance before the message has ended answers something else: unknown', async () => {
    const server = await hostileSmtp({ body: (socket) => pause(socket) ?? '250 2.0.0 queued as EARLY' });
    const outcome = await kind(server, {}, LARGE).perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: 'unknown', errorClass: 'early_answer' });
  });

  it('stopped by the relay while it waits for the answer: unknown', async () => {
    const stop = new AbortController();
    const server = await hostileSmtp({ dot: () => stop.abort() as undefined });
    const outcome = await kind(server).perform({}, attempt({ signal: stop.signal }));
    expect(outcome).toMatchObject({ outcome: 'unknown', errorClass: 'aborted' });
  });

  it.each([
    [250, { outcome: 'completed', providerId: '4Xk2', status: 250 }],
    [421, { ...notSent, status: 421 }],
    [451, { ...notSent, status: 451 }],
    [550, { outcome: 'failed', status: 550, errorClass: 'smtp_550' }],
    [554, { outcome: 'failed', status: 554 }],
  ])('%i to the whole message', async (status, expected) => {
    const server = await hostileSmtp(status === 250 ? {} : { dot: `${status} 9.9.9 said so` });
    expect(await kind(server).perform({}, attempt())).toMatchObject(expected);
    expect(server.messages).toHaveLength(1);
  });
});

describe('refusals before the message', () => {
  it.each([
    ['MAIL', 451, notSent],
    ['MAIL', 552, { outcome: 'failed', status: 552 }],
    ['RCPT', 450, notSent],
    ['RCPT', 550, { outcome: 'failed', status: 550, errorText: expect.stringContaining('ana@example.com') }],
    ['DATA', 451, notSent],
    ['DATA', 554, { outcome: 'failed', status: 554 }],
    ['MAIL', 530, { ...notSent, burnsAttempt: false, breaksTarget: true }],
    ['greeting', 554, { ...notSent, breaksTarget: true }],
    ['EHLO', 502, { ...notSent, breaksTarget: true }],
  ] as const)('%s answered %i', async (moment, status, expected) => {
    for (const extensions of ['250 mx.test', '250-mx.test\r\n250 PIPELINING']) {
      const server = await hostileSmtp({ EHLO: extensions, [moment]: `${status} 5.9.9 no` });
      expect(await kind(server).perform({}, attempt())).toMatchObject(expected);
      expect(server.messages).toEqual([]);
    }
  });

  it.each([
    [535, { ...notSent, burnsAttempt: false, breaksTarget: true }],
    [454, notSent],
  ])('AUTH answered %i', async (status, expected) => {
    const server = await hostileSmtp({ EHLO: '250-mx.test\r\n250 AUTH PLAIN', AUTH: `${status} 5.7.8 no` });
    const auth = { user: 'shop', pass: 'correct horse' };
    const outcome = await kind({ ...server, auth, requireTls: false }).perform({}, attempt());
    expect(outcome).toMatchObject({ ...expected, status });
    expect(server.commands.some((line) => line.startsWith('MAIL'))).toBe(false);
  });

  it.each([
    ['250 mx.test', 550, { outcome: 'failed', status: 550 }],
    ['250-mx.test\r\n250 PIPELINING', 550, { outcome: 'failed', status: 550 }],
    ['250 mx.test', 450, notSent],
    ['250-mx.test\r\n250 PIPELINING', 450, notSent],
  ])(
    'one recipient of two refused (%j, %i): nobody gets it, and the refused one is named',
    async (EHLO, status, expected) => {
      const server = await hostileSmtp({
        EHLO,
        RCPT: (_, line) => (line.includes('beto') ? `${status} no such user` : '250 fine'),
      });
      const outcome = await kind(server, {}, { to: ['ana@example.com', 'beto@example.com'] }).perform({}, attempt());
      expect(outcome).toMatchObject({ ...expected, errorText: expect.stringContaining('beto@example.com') });
      expect(server.messages).toEqual([]);
    },
  );
});

function drip(socket: Socket): undefined {
  const next = (): void => {
    if (socket.destroyed) return;
    socket.write('2');
    systemClock.after(50, next);
  };
  next();
}

function flood(socket: Socket): undefined {
  const next = (): void => {
    if (!socket.destroyed) socket.write(`250-${'x'.repeat(8_192)}\r\n`, next);
  };
  next();
}

function pause(socket: Socket): undefined {
  socket.pause();
}

function goAndDrop(socket: Socket): undefined {
  socket.write('354 go\r\n', () => socket.destroy());
}
