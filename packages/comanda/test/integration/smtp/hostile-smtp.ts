import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/kernel/clock.js';
import type { EffectKind, PerformContext } from '../../../src/ports/effect-kind.js';
import {
  type SmtpEffectDefinition,
  type SmtpMessage,
  type SmtpServer,
  smtpEffect,
} from '../../../src/transports/smtp/index.js';

/** A moment in a session at which the server can misbehave. */
export type Moment = 'greeting' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'body' | 'dot' | 'QUIT';

/** Says what the server does at a moment: answers with the text, or does something with the socket and answers nothing. */
export type Act = (socket: Socket, line: string) => string | undefined;

export interface HostileSmtp {
  readonly port: number;
  /** Whole messages, empty ones left out, in order of arrival; whatever was answered to them. */
  readonly messages: string[];
  /** Commands, in order of arrival, of all sessions. */
  readonly commands: string[];
  /** Messages that were answered 250. */
  accepted(): number;
  connections(): number;
  open(): number;
}

const GOOD: Readonly<Record<Moment, string>> = {
  greeting: '220 mx.test ESMTP',
  EHLO: '250-mx.test\r\n250 8BITMIME',
  STARTTLS: '454 4.7.0 not available',
  AUTH: '235 2.7.0 fine',
  MAIL: '250 2.1.0 fine',
  RCPT: '250 2.1.5 fine',
  DATA: '354 go ahead',
  body: '',
  dot: '250 2.0.0 Ok: queued as 4Xk2',
  QUIT: '221 2.0.0 bye',
};

/** A mail server on a real socket that does as told, moment by moment, and is a good one everywhere else. */
export async function hostileSmtp(acts: Partial<Record<Moment, Act | string>> = {}): Promise<HostileSmtp> {
  const messages: string[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let accepted = 0;

  const at = (moment: Moment, socket: Socket, line: string): string => {
    const act = acts[moment] ?? GOOD[moment];
    const answer = (typeof act === 'string' ? act : act(socket, line)) ?? '';
    if (answer !== '' && !socket.destroyed) socket.write(`${answer}\r\n`);
    return answer;
  };

  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let pending = '';
    let inBody = false;
    let bodyBegan = false;
    socket.on('data', (chunk) => {
      pending += chunk.toString('latin1');
      while (!socket.destroyed) {
        if (inBody) {
          if (!bodyBegan && pending.length > 0) {
            bodyBegan = true;
            at('body', socket, '');
          }
          const empty = pending.startsWith('.\r\n');
          const end = empty ? 0 : pending.indexOf('\r\n.\r\n');
          if (end < 0 || socket.destroyed) return;
          if (!empty) messages.push(pending.slice(0, end));
          pending = pending.slice(end + (empty ? 3 : 5));
          inBody = false;
          bodyBegan = false;
          if (at('dot', socket, '').startsWith('250')) accepted++;
          continue;
        }
        const end = pending.indexOf('\r\n');
        if (end < 0) return;
        const line = pending.slice(0, end);
        pending = pending.slice(end + 2);
        commands.push(line);
        const verb = (/^[A-Za-z]+/.exec(line)?.[0] ?? '').toUpperCase();
        const moment = (verb === 'HELO' ? 'EHLO' : verb) as Moment;
        const answer = moment in GOOD ? at(moment, socket, line) : '500 what';
        if (moment === 'DATA' && answer.startsWith('354')) inBody = true;
        if (moment === 'QUIT') socket.end();
      }
    });
    at('greeting', socket, '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    messages,
    commands,
    accepted: () => accepted,
    connections: () => connections,
    open: () => sockets.size,
  };
}

/** Cuts the connection. */
export const drop: Act = (socket) => {
  socket.destroy();
  return undefined;
};

/** Says something without a line end after it, and ends the connection. */
export function last(text: string): Act {
  return (socket) => {
    socket.end(text);
    return undefined;
  };
}

/** Says nothing, ever. */
export const silence: Act = () => undefined;

export const MESSAGE: SmtpMessage = {
  from: 'Cumbre <shop@cumbre.example>',
  to: 'ana@example.com',
  subject: 'Your refund',
  text: 'MXN 2,154.00 are on their way.\n.\n..\nGoodbye',
};

/** A kind that sends one message to a server of the test. */
export function kind(
  transport: Partial<SmtpServer> & { readonly port: number },
  more: Partial<SmtpEffectDefinition> = {},
  message: Partial<SmtpMessage> = {},
): EffectKind {
  return smtpEffect({
    kind: 'refund_mail',
    transport: { host: '127.0.0.1', ...transport },
    onUnknown: 'ask-human',
    message: () => ({ ...MESSAGE, ...message }),
    ...more,
  }).definition;
}

/** The context of an attempt. */
export function attempt(more: Partial<PerformContext> = {}): PerformContext {
  return {
    idempotencyKey: 'refund:ORD-2041/refund_mail',
    attempt: 1,
    fence: '7',
    payloadText: '{"order": "ORD-2041"}',
    signal: new AbortController().signal,
    sendBy: systemClock.monotonicMs() + 30_000,
    timeoutMs: 5_000,
    subject: 'order:ORD-2041',
    subjectVersion: null,
    idempotency: 'none',
    headers: {},
    ...more,
  };
}
