import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Book, BookLine } from './book.js';

/** An answer in JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that was read completely and is in the book as `received`. */
export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | null;
  readonly lane: string | null;
  readonly fence: string | null;
  readonly client: string | null;
  readonly body: string;
  /** Writes the line that says what became of it. */
  note(line: Pick<BookLine, 'event'> & Partial<Pick<BookLine, 'id' | 'status' | 'reason'>>): void;
}

/** Which request headers carry lane and fence. */
export interface HeaderNames {
  readonly lane: string;
  readonly fence: string;
}

export async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Writes the `received` line and makes the request out of it. */
export function receive(
  req: IncomingMessage,
  path: string,
  body: string,
  book: Book,
  names: HeaderNames,
): ProviderRequest {
  const facts = {
    key: header(req.headers, 'idempotency-key'),
    client: header(req.headers, 'user-agent'),
    method: req.method ?? '',
    path,
    body,
    ...laneAndFence(req.headers, names),
  };
  const request = book.write({ event: 'received', ...facts });
  return { ...facts, note: (line) => void book.write({ ...facts, ...line, request }) };
}

export function laneAndFence(
  headers: IncomingHttpHeaders,
  names: HeaderNames,
): Pick<ProviderRequest, 'lane' | 'fence'> {
  return { lane: header(headers, names.lane), fence: header(headers, names.fence) };
}

/** A header's value; `null` when it was not sent. */
function header(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null);
}

export function send(res: ServerResponse, { status, body, headers = {} }: Answer): void {
  const text = JSON.stringify(body);
  res.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  res.end(text);
}

export function failure(status: number, code: string, message = code): Answer {
  return { status, body: { error: { code, message } } };
}
