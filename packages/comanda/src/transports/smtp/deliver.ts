import { type AttemptTime, ranOut } from '../../kernel/attempt-time.js';
import type { Clock } from '../../kernel/clock.js';
import { CONNECT_TIMEOUT_MS } from '../../kernel/limits.js';
import { bodyOf } from './body.js';
import type { SmtpEvent } from './classify.js';
import type { ComposedMessage } from './message.js';
import type { Nodemailer } from './nodemailer.js';
import type { SmtpServer } from './types.js';
import { accepted, type Delivery, type Phase, refusal, type SmtpError, verdict } from './verdict.js';

/** Bounds of one delivery. */
export interface DeliveryLimits extends AttemptTime {
  readonly clock: Clock;
}

/** Longest answer of a server that is read. */
const REPLY_MAX_BYTES = 64 * 1_024;
/** How long the server may take to say goodbye after it has accepted the message. */
const QUIT_MS = 2_000;

/** Hands one message to the server on a connection of its own. Never rejects. */
export function deliver(
  { SMTPConnection }: Pick<Nodemailer, 'SMTPConnection'>,
  server: SmtpServer,
  { from, to, bytes }: ComposedMessage,
  limits: DeliveryLimits,
): Promise<Delivery> {
  const { clock, signal, timeoutMs } = limits;
  const remainingMs = limits.startedMs + timeoutMs - clock.monotonicMs();
  return new Promise((resolve) => {
    let phase: Phase = 'connection';
    let done = false;
    const connection = new SMTPConnection(optionsOf(server, timeoutMs));

    const settle = (delivery: Delivery): void => {
      if (done) return;
      done = true;
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      if (delivery.event === 'accepted') {
        const goodbye = clock.after(QUIT_MS, () => connection.close());
        connection.once('end', () => goodbye.cancel());
        connection.quit();
      } else connection.close();
      resolve(delivery);
    };
    const fail = (error: SmtpError): void => settle(verdict(phase, error));
    const stop = (before: SmtpEvent, errorClass: string, errorText: string): void =>
      settle({ event: phase === 'answer' ? 'noAnswer' : before, evidence: { errorClass, errorText } });
    const timedOut = (): void => stop('notSent', 'timeout', `${phase}: not finished within ${timeoutMs} ms`);
    const timer = clock.after(remainingMs, timedOut);
    const onAbort = (): void =>
      ranOut(limits, clock) ? timedOut() : stop('released', 'aborted', `${phase}: stopped by the relay`);
    signal.addEventListener('abort', onAbort, { once: true });

    // nodemailer writes down in the envelope what became of each recipient.
    const envelope: { from: string; to: string[]; size: number; rejectedErrors?: readonly SmtpError[] } = {
      from,
      to: [...to],
      size: bytes.length,
    };
    const body = bodyOf(bytes, {
      begin: () => {
        if (done) return false;
        const refused = refusal(envelope.rejectedErrors ?? []);
        if (refused !== undefined) settle(refused);
        else if (clock.monotonicMs() > limits.sendByMs)
          stop('released', 'send_by', 'the moment until which it could be sent has passed');
        else phase = 'body';
        return !done;
      },
      end: () => {
        if (!done) phase = 'answer';
        return !done;
      },
    });
    const send = (): void => {
      phase = 'envelope';
      connection.send(envelope, body, (error, info) => {
        if (error !== null) fail(error);
        // An answer to a message that had not ended is an answer to something else.
        else if (phase !== 'answer')
          settle({ event: 'noAnswer', evidence: { errorClass: 'early_answer', response: info?.response ?? '' } });
        else settle(accepted(info?.response ?? '', info?.serverMessageId, info?.rejectedErrors ?? []));
      });
    };

    connection.on('error', fail);
    // It can end without a word, and it ends before it says why.
    connection.once('end', () => clock.after(0, () => fail(new Error('the connection ended'))));
    if (signal.aborted) return onAbort();
    connection.connect((error) => {
      if (error !== undefined && error !== null) return fail(error);
      if (server.auth === undefined) return send();
      phase = 'login';
      const { user, pass } = server.auth;
      connection.login({ user, pass, credentials: { user, pass } }, (refused) =>
        refused === null ? send() : fail(refused),
      );
    });
  });
}

function optionsOf({ host, port, secure, requireTls, auth, tls, name }: SmtpServer, timeoutMs: number) {
  const { ca, ...own } = tls ?? {};
  return {
    host,
    port: port ?? (secure === true ? 465 : 587),
    secure: secure ?? port === 465,
    requireTLS: requireTls ?? auth !== undefined,
    ...(name === undefined ? {} : { name }),
    tls: ca === undefined ? own : { ...own, ca: typeof ca === 'string' ? ca : [...ca] },
    connectionTimeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs),
    // A connection that failed is dropped, not ended politely: nothing more of it may reach the server.
    socketCloseTimeout: 0,
    maxResponseSize: REPLY_MAX_BYTES,
    logger: false as const,
  };
}
