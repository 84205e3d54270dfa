/*
 * The providers, as a process that knows nothing of Comanda: a judge. Every run has a book of its own, `GET /RUN/book`.
 *   POST /RUN/keyed/REF      accepted once per Idempotency-Key, replayed afterwards; another body under a known key is 422
 *   PUT  /RUN/natural/REF    accepted each time: the state is put
 *   POST /RUN/looked_up/REF  accepted each time; GET tells whether it was
 *   POST /RUN/ask_human/REF  accepted each time
 *   POST /RUN/plain/REF      accepted each time, for those who do without Comanda
 * and a mail server whose messages have the subject `RUN REF`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server';
import type { Behaviour, Payload } from '../kinds.js';
import type { BookEntry } from '../stage/book.js';

const SLOW_MS = 300;
const { late, long } = JSON.parse(process.argv[2] ?? '{}') as { readonly late: number; readonly long: number };
const books = new Map<string, BookEntry[]>();

function bookOf(run: string): BookEntry[] {
  const book = books.get(run) ?? [];
  books.set(run, book);
  return book;
}

async function onRequest(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  const [, run = '', kind = '', ref = ''] = (req.url ?? '').split('/');
  const book = bookOf(run);
  const answer = (status: number, value: object, headers: Readonly<Record<string, string>> = {}): void => {
    const text = JSON.stringify(value);
    res
      .writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
  };
  if (req.method === 'DELETE') {
    books.delete(run);
    return answer(200, {});
  }
  if (kind === 'book') return answer(200, book);
  const accepted = book.find((entry) => entry.event === 'accepted' && entry.ref === ref);
  if (req.method === 'GET') return accepted === undefined ? answer(404, {}) : answer(200, { id: accepted.id });

  const key = String(req.headers['idempotency-key'] ?? '');
  const times = book.filter((entry) => entry.event === 'received' && entry.ref === ref).length;
  book.push({ event: 'received', kind, ref, key, body });
  const known = kind === 'keyed' ? book.find((entry) => entry.event === 'accepted' && entry.key === key) : undefined;
  if (known !== undefined) {
    if (known.body !== body) return answer(422, { error: 'another body under a known key' });
    book.push({ event: 'replayed', kind, ref, key, body });
    return answer(200, { id: known.id });
  }
  const behaviour = behaviourOf(body, times);
  const status = Number(behaviour.replace('always ', ''));
  if (status > 0) {
    book.push({ event: 'rejected', kind, ref, key, body });
    return answer(status, { error: behaviour }, status === 429 ? { 'retry-after': '1' } : {});
  }
  const id = `${kind}-${ref}-${book.length}`;
  book.push({ event: 'accepted', kind, ref, key, body, id });
  if (behaviour === 'drop') return void res.socket?.resetAndDestroy();
  if (behaviour !== 'ok') await setTimeout({ slow: SLOW_MS, late, long }[behaviour as 'slow' | 'late' | 'long']);
  answer(200, { id });
}

function behaviourOf(body: string, times: number): Behaviour {
  try {
    const { behave = [] } = JSON.parse(body) as Payload;
    return behave[0] === 'always 400' ? 'always 400' : (behave[times] ?? 'ok');
  } catch {
    return '400';
  }
}

const http = createServer((req, res) => {
  onRequest(req, res).catch(() => res.destroy());
});
http.keepAliveTimeout = 60_000;
http.listen(0, '127.0.0.1');

const mail = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS', 'AUTH'],
  logger: false,
  onData(stream: SMTPServerDataStream, _session, done) {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    stream.on('end', () => {
      const [, run = '', ref = ''] = /^Subject: (\S+) (\S+)/im.exec(text) ?? [];
      const key = /^Message-ID:\s*(\S+)/im.exec(text)?.[1] ?? '';
      const book = bookOf(run);
      const entry = { kind: 'mail', ref, key, body: '' };
      book.push({ event: 'received', ...entry }, { event: 'accepted', ...entry, id: `mail-${ref}-${book.length}` });
      done(null, 'queued');
    });
  },
});
mail.on('error', () => undefined);
mail.listen(0, '127.0.0.1', () => {
  const port = (server: { address(): string | AddressInfo | null }): number => (server.address() as AddressInfo).port;
  process.stdout.write(`${JSON.stringify({ ready: true, http: port(http), mail: port(mail.server) })}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
