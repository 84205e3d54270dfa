import { eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/kernel/clock.js';
import { messageIdOf, smtpEffect } from '../../../src/transports/smtp/index.js';
import { TEST_CERTIFICATE } from '../http/test-certificate.js';
import { attempt, hostileSmtp, kind, MESSAGE } from './hostile-smtp.js';
import { startInbox } from './inbox.js';

const ID = messageIdOf('refund:ORD-2041/refund_mail', 'cumbre.example');

describe('a good server', () => {
  it('gets the message whole, over STARTTLS, with credentials, and its queue id is kept', async () => {
    const inbox = await startInbox({ auth: { user: 'shop', pass: 'correct horse' } });
    const auth = { user: 'shop', pass: 'correct horse' };
    const outcome = await kind({ port: inbox.port, auth, tls: { ca: TEST_CERTIFICATE } }).perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: 'completed', providerId: 'Q1', status: 250 });
    const [mail] = inbox.mails;
    expect(mail).toMatchObject({ from: 'shop@cumbre.example', to: ['ana@example.com'], user: 'shop', secure: true });
    expect(mail?.headers).toMatchObject({ 'message-id': ID, subject: 'Your refund' });
    // Lines that begin with a dot, and the one that is only a dot, arrive as they were.
    expect(mail?.body).toContain('way.\r\n.\r\n..\r\nGoodbye');
  });

  it('over TLS from the first byte', async () => {
    const inbox = await startInbox({ secure: true });
    const outcome = await kind({ port: inbox.port, secure: true, tls: { ca: TEST_CERTIFICATE } }).perform(
      {},
      attempt(),
    );
    expect(outcome).toMatchObject({ outcome: 'completed' });
  });

  it('cc and bcc get it too; bcc stands in no header; every mailbox once', async () => {
    const inbox = await startInbox({});
    const message = {
      cc: ['Beto <beto@example.com>', 'ana@example.com'],
      bcc: { name: 'Audit', address: 'audit@cumbre.example' },
    };
    await kind({ port: inbox.port, tls: { ca: TEST_CERTIFICATE } }, {}, message).perform({}, attempt());
    expect(inbox.mails[0]?.to).toEqual(['ana@example.com', 'beto@example.com', 'audit@cumbre.example']);
    expect(inbox.mails[0]?.raw).not.toContain('audit');
  });

  it('one connection per message, and none stays open', async () => {
    const server = await hostileSmtp();
    const effect = kind(server);
    await effect.perform({}, attempt());
    await effect.perform({}, attempt());
    expect(server.connections()).toBe(2);
    await eventually(() => server.open() === 0 && server.commands.filter((line) => line === 'QUIT').length === 2);
  });
});

describe('the Message-ID', () => {
  it('is the same on every attempt, another for another key, and of the form of RFC 5322', async () => {
    const server = await hostileSmtp();
    const effect = kind(server);
    await effect.perform({}, attempt({ attempt: 1 }));
    await effect.perform({}, attempt({ attempt: 9, fence: '99' }));
    await effect.perform({}, attempt({ idempotencyKey: 'ключ\r\nBcc: x@y <"\u{1f600}">' }));
    const ids = server.messages.map((message) => /^Message-ID:\s+(\S+)\r?$/im.exec(message)?.[1]);
    expect(ids.slice(0, 2)).toEqual([ID, ID]);
    expect(ids[2]).toMatch(/^<[0-9a-f]{48}@cumbre\.example>$/);
    expect(ids[2]).not.toBe(ID);
    expect(server.messages[2]).not.toMatch(/^Bcc:/im);
  });

  it('carries the domain that is named, whatever the sender is', async () => {
    const server = await hostileSmtp();
    await kind(server, { messageIdDomain: 'mail.cumbre.example' }).perform({}, attempt());
    expect(server.messages[0]).toContain(messageIdOf('refund:ORD-2041/refund_mail', 'mail.cumbre.example'));
  });
});

describe('TLS that fails', () => {
  it.each([
    ['not offered', {}],
    ['refused', { EHLO: '250-mx.test\r\n250 STARTTLS' }],
    ['agreed to, then garbage', { EHLO: '250-mx.test\r\n250 STARTTLS', STARTTLS: '220 go\r\nHTTP/1.1 400 Bad' }],
  ] as const)('%s: nothing is said, no credentials leave', async (_, acts) => {
    const server = await hostileSmtp(acts);
    const auth = { user: 'shop', pass: 'correct horse' };
    const outcome = await kind({ ...server, auth }).perform({}, attempt({ timeoutMs: 1_000 }));
    expect(outcome).toMatchObject({ outcome: 'retry', notSent: true });
    expect(server.commands.some((line) => /^(AUTH|MAIL)/.test(line))).toBe(false);
  });

  it.each([true, false])('a certificate that nobody vouches for (from the first byte: %s)', async (secure) => {
    const inbox = await startInbox({ secure });
    const outcome = await kind({ port: inbox.port, secure }).perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: 'retry', notSent: true });
    expect(inbox.mails).toEqual([]);
  });

  it('a server that does not speak TLS', async () => {
    const server = await hostileSmtp();
    expect(await kind({ ...server, secure: true }).perform({}, attempt())).toMatchObject({
      outcome: 'retry',
      notSent: true,
    });
  });

  it('nobody there, and no such name', async () => {
    const { port } = await hostileSmtp();
    const refused = await kind({ port: 1 }).perform({}, attempt());
    expect(refused).toMatchObject({ outcome: 'retry', notSent: true, errorClass: 'ECONNREFUSED' });
    const unnamed = await kind({ port, host: 'no-such-host.invalid' }).perform({}, attempt());
    expect(unnamed).toMatchObject({ outcome: 'retry', notSent: true });
  });
});

describe('values from a payload', () => {
  it.each([
    ['a line break in the subject', { subject: 'Hello\r\nBcc: eve@example.com' }],
    ['a line feed in a name', { to: { name: 'Ana\nBcc: eve@example.com', address: 'ana@example.com' } }],
    ['a line break in an address', { to: 'ana@example.com\r\nRCPT TO:<eve@example.com>' }],
    ['a list where one mailbox is expected', { to: 'ana@example.com, eve@example.com' }],
    ['a group', { to: 'everybody: ana@example.com, eve@example.com;' }],
    ['an address that ends its bracket', { to: { address: 'ana@example.com> ORCPT=x <eve@example.com' } }],
    ['no address', { to: 'ana' }],
    ['nobody', { to: [] }],
    ['a line break in a header', { headers: { 'X-Order': '1\r\nBcc: eve@example.com' } }],
    ['a header of ours', { headers: { 'message-ID': '<mine@example.com>' } }],
    ['a header that is none', { headers: { 'X Order': '1' } }],
    ['a line break in the name of a file', { attachments: [{ filename: 'a\r\nb', content: '' }] }],
    ['a sender without a domain', { from: 'shop@localhost_' }],
  ])('%s is refused for good, before any connection', async (_, message) => {
    const server = await hostileSmtp();
    const outcome = await kind(server, {}, message).perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: 'failed', errorClass: 'message_refused' });
    expect(JSON.stringify(outcome)).not.toContain('eve@');
    expect(server.connections()).toBe(0);
  });

  it('an attachment cannot be made of a file of this machine', async () => {
    const server = await hostileSmtp();
    const attachments = [{ filename: 'a.txt', content: { path: import.meta.filename } as unknown as string }];
    const outcome = await kind(server, {}, { attachments }).perform({}, attempt());
    expect(outcome).toMatchObject({ outcome: expect.stringMatching(/^(failed|retry)$/) });
    expect(server.messages.join()).not.toContain('startInbox');
  });
});

describe('time', () => {
  it('no first byte of a message after the moment until which it could be sent', async () => {
    const sendBy = systemClock.monotonicMs() + 150;
    const server = await hostileSmtp({
      DATA: (socket) => {
        systemClock.after(300, () => socket.write('354 go ahead\r\n'));
        return undefined;
      },
    });
    const outcome = await kind(server).perform({}, attempt({ sendBy }));
    expect(outcome).toMatchObject({ outcome: 'retry', notSent: true, burnsAttempt: false, errorClass: 'send_by' });
    expect(server.messages).toEqual([]);
  });

  it('a signal that had fired before makes no connection', async () => {
    const server = await hostileSmtp();
    const outcome = await kind(server).perform({}, attempt({ signal: AbortSignal.abort() }));
    expect(outcome).toMatchObject({ outcome: 'retry', notSent: true });
    expect(server.connections()).toBe(0);
  });

  it('a function that never makes its message ends with the signal', async () => {
    const server = await hostileSmtp();
    const effect = kind(server, { message: () => new Promise(() => {}) });
    const outcome = await effect.perform({}, attempt({ signal: AbortSignal.timeout(50) }));
    expect(outcome).toMatchObject({ outcome: 'retry', notSent: true });
  });

  it('a function that throws is tried again', async () => {
    const effect = kind(await hostileSmtp(), {
      message: () => {
        throw new Error('the template service is away');
      },
    });
    expect(await effect.perform({}, attempt())).toMatchObject({
      outcome: 'retry',
      notSent: true,
      errorClass: 'message_not_made',
    });
  });
});

describe('evidence', () => {
  it('holds neither the password, in any form, nor the values of redacted paths', async () => {
    const pass = 'correct horse';
    const auth = { user: 'shop', pass };
    const echo = `535 no: ${pass} ${Buffer.from(pass).toString('base64')} ${Buffer.from(`\0shop\0${pass}`).toString('base64')} ana@example.com`;
    const server = await hostileSmtp({ EHLO: '250-mx.test\r\n250 AUTH PLAIN LOGIN', AUTH: echo });
    const effect = kind({ ...server, auth, requireTls: false }, { redact: ['to'] });
    const outcome = await effect.perform({}, attempt({ payloadText: '{"to": "ana@example.com"}' }));
    const text = JSON.stringify(outcome);
    expect(text).toContain('[redacted]');
    expect(text).not.toMatch(/correct horse|Y29ycmVjdCBob3JzZQ|AHNob3A|ana@example/);
  });
});

describe('definitions', () => {
  const definition = { kind: 'mail', transport: { host: 'mx.test' }, message: () => MESSAGE } as const;

  it('without a look-up it must say who decides', () => {
    expect(() => smtpEffect(definition)).toThrow(expect.objectContaining({ code: 'COMANDA_UNSAFE_EFFECT' }));
    expect(() => smtpEffect({ ...definition, onUnknown: 'reconcile' })).toThrow(
      expect.objectContaining({ code: 'COMANDA_UNSAFE_EFFECT' }),
    );
    expect(smtpEffect({ ...definition, onUnknown: 'ask-human' }).definition).toMatchObject({
      idempotency: 'none',
      risk: 'irreversible',
    });
    expect(smtpEffect({ ...definition, reconcile: () => 'absent' }).definition.onUnknown).toBe('reconcile');
  });

  it.each([
    [{ transport: { host: 'mx.test\r\n' } }, /host/],
    [{ transport: { host: 'mx.test', port: 70_000 } }, /port is 70000/],
    [{ transport: { host: 'mx.test', auth: { user: 'shop', pass: '' } } }, /auth needs user and pass/],
    [{ messageIdDomain: 'no domain' }, /messageIdDomain "no domain"/],
    [{ concurrency: 0 }, /concurrency is 0/],
    [{ timeout: 'soon' as never }, /timeout/],
    [{ kind: ' ' }, /kind is empty/],
  ])('%j is refused by name', (more, problem) => {
    expect(() => smtpEffect({ ...definition, onUnknown: 'ask-human', ...more })).toThrow(problem);
  });

  it('a look-up is given the Message-ID, and what it throws or mumbles is no proof', async () => {
    const asked: string[] = [];
    const effect = kind(await hostileSmtp(), {
      reconcile: (messageId) => {
        asked.push(messageId);
        return asked.length === 1
          ? { found: 'applied', providerId: 'Q7' }
          : asked.length === 2
            ? ('maybe' as never)
            : Promise.reject(new Error('away'));
      },
    });
    expect(await effect.reconcile?.({}, attempt())).toEqual({ found: 'applied', providerId: 'Q7' });
    expect(await effect.reconcile?.({}, attempt())).toMatchObject({ found: 'cannotTell' });
    expect(await effect.reconcile?.({}, attempt())).toMatchObject({ found: 'cannotTell', errorText: 'away' });
    expect(asked).toEqual([ID, ID, ID]);
  });
});
