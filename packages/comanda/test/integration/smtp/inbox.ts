import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server';
import { onTestFinished } from 'vitest';
import { TEST_CERTIFICATE, TEST_KEY } from '../http/test-certificate.js';

/** A message as a good server got it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
  readonly secure: boolean;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly raw: string;
}

export interface Inbox {
  readonly port: number;
  readonly mails: ReceivedMail[];
}

/** A mail server that speaks the protocol as it should: TLS, credentials, every command. */
export async function startInbox(options: {
  readonly secure?: boolean;
  readonly auth?: { readonly user: string; readonly pass: string };
}): Promise<Inbox> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    secure: options.secure ?? false,
    key: TEST_KEY,
    cert: TEST_CERTIFICATE,
    authOptional: options.auth === undefined,
    logger: false,
    onAuth({ username, password }, _session, done) {
      const right = username === options.auth?.user && password === options.auth?.pass;
      if (right) done(null, { user: username });
      else done(new Error('no'));
    },
    onData(stream: SMTPServerDataStream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString();
        const [head = '', body = ''] = raw.split(/\r\n\r\n(.*)/s);
        const headers = Object.fromEntries(
          head
            .replace(/\r\n[ \t]+/g, ' ')
            .split('\r\n')
            .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
        );
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          user: typeof session.user === 'string' ? session.user : undefined,
          secure: session.secure,
          headers,
          body,
          raw,
        });
        done(null, `Ok: queued as Q${mails.length}`);
      });
    },
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { port: (server.server.address() as AddressInfo).port, mails };
}
