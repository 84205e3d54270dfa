import { createServer, type Socket } from 'node:net';
import { type Book, openBook } from './book.js';
import { createHolder, type Holder } from './holder.js';
import { startDouble } from './server.js';
import type { Fault, FaultAnswer, ProviderDouble, ReceivedRequest } from './types.js';

/** A mail server on this machine that keeps a book, and misbehaves as told. */
export interface MailDouble extends ProviderDouble {
  readonly protocol: 'smtp';
  /** Always `127.0.0.1`. */
  readonly host: string;
  readonly port: number;
  /**
   * What the log of a mail server says about a Message-ID; for `reconcile`. A look-up like any other: it stands in the book, and can be made to fail.
   *
   * @throws Error when it was told to fail, or is down
   */
  lookUp(messageId: string, signal?: AbortSignal): Promise<'applied' | 'absent'>;
}

const GREETING = '220 mail.test ESMTP';

/**
 * Starts a mail server on 127.0.0.1, without TLS and login, that keeps a book of the messages it took. Faults happen at the end of the message, where it matters:
 * `before` nothing was accepted, `after` everything was. Answers with a status become SMTP's: 4xx and 5xx of HTTP that pass are `451`, those that do not are `550`.
 */
export async function createMailDouble(): Promise<MailDouble> {
  // SMTP recognises nothing.
  const book = openBook({ idempotency: 'none' });
  const holder = createHolder();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    converse(socket, (message) => take({ book, holder }, socket, message));
  });
  return (await startDouble<Pick<MailDouble, 'protocol' | 'host' | 'port' | 'lookUp'>>({
    book,
    holder,
    server,
    drop: () => {
      for (const socket of sockets) socket.destroy();
    },
    own: (port) => ({
      protocol: 'smtp',
      host: '127.0.0.1',
      port,
      lookUp: (messageId, signal) => lookUp({ book, holder }, messageId, { isUp: server.listening, signal }),
    }),
  })) as MailDouble;
}

interface Mail {
  readonly to: readonly string[];
  readonly text: string;
}

/** The server's side of a session, up to each whole message. */
function converse(socket: Socket, take: (mail: Mail) => void): void {
  let pending = '';
  let body = false;
  let to: string[] = [];
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  say(GREETING);
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    pending += String(chunk);
    for (;;) {
      const mark = body ? '\r\n.\r\n' : '\r\n';
      const end = pending.indexOf(mark);
      if (end < 0 || socket.destroyed) return;
      const line = pending.slice(0, end);
      pending = pending.slice(end + mark.length);
      if (body) {
        body = false;
        take({ to, text: line });
        continue;
      }
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'MAIL') to = [];
      if (verb === 'RCPT') to.push(/<([^>]*)>/.exec(line)?.[1] ?? '');
      body = verb === 'DATA';
      if (verb === 'QUIT') return void socket.end('221 bye\r\n');
      say(body ? '354 go ahead' : verb === 'EHLO' ? '250-mail.test\r\n250 8BITMIME' : '250 fine');
    }
  });
}

interface Desk {
  readonly book: Book;
  readonly holder: Holder;
}

function take({ book, holder }: Desk, socket: Socket, { to, text }: Mail): void {
  const messageId = /^message-id:\s*(\S+)/im.exec(text)?.[1];
  const request: ReceivedRequest = {
    what: 'act',
    method: 'DATA',
    path: to.join(','),
    headers: {},
    body: text,
    key: messageId,
  };
  const fault = holder.faultOf(request);
  const entry = book.enter(request, fault);
  const say = (status: number, line: string): void => {
    entry.status = status;
    if (!socket.destroyed) socket.write(`${status} ${line}\r\n`);
  };
  const accept = (): void => {
    book.judge(entry);
    say(250, `2.0.0 queued as M${entry.number}`);
  };
  if (fault === undefined) accept();
  else if (typeof fault === 'object') {
    if (fault.accepts === true) book.judge(entry);
    if (passes(fault)) say(451, '4.3.0 try again later');
    else say(550, '5.7.1 refused');
  } else misbehave(holder, fault, socket, { accept, judge: () => void book.judge(entry), say });
}

function passes({ status }: FaultAnswer): boolean {
  return status >= 500 || status === 429 || status === 408;
}

function misbehave(
  holder: Holder,
  fault: Exclude<Fault, FaultAnswer>,
  socket: Socket,
  act: { accept(): void; judge(): void; say(status: number, line: string): void },
): void {
  if (fault === 'silent-before') holder.hold(act.accept);
  else if (fault === 'reset-before') socket.resetAndDestroy();
  else {
    act.judge();
    if (fault === 'reset-after') socket.resetAndDestroy();
    else if (fault === 'silent-after') holder.hold(() => act.say(250, '2.0.0 queued'));
    else socket.end('queued, I think\r\n');
  }
}

async function lookUp(
  { book, holder }: Desk,
  messageId: string,
  { isUp, signal }: { readonly isUp: boolean; readonly signal: AbortSignal | undefined },
): Promise<'applied' | 'absent'> {
  const asked = { what: 'look-up', method: 'LOG', path: messageId, headers: {}, body: '', key: messageId } as const;
  if (!isUp) throw new Error('connect ECONNREFUSED: the mail server is down');
  const fault = holder.faultOf(asked);
  const entry = book.enter(asked, fault);
  if (fault === 'silent-before' || fault === 'silent-after') {
    await new Promise<void>((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      holder.hold(resolve);
    });
  } else if (fault !== undefined)
    throw new Error(typeof fault === 'object' ? `the mail log answered ${fault.status}` : `the mail log: ${fault}`);
  const found = book.entries.some(({ verdict, key }) => verdict === 'accepted' && key === messageId);
  entry.verdict = found ? 'found' : 'not-found';
  return found ? 'applied' : 'absent';
}
