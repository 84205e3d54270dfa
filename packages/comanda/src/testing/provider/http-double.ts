import { createServer, type IncomingMessage } from 'node:http';
import { openBook } from './book.js';
import { createHolder } from './holder.js';
import { serve } from './http-desk.js';
import { startDouble } from './server.js';
import type { ProviderDouble, ProviderDoubleOptions } from './types.js';

/** A provider on this machine that keeps a book, and misbehaves as told. */
export interface HttpProviderDouble extends ProviderDouble {
  readonly protocol: 'http';
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
}

/**
 * Starts an HTTP provider on 127.0.0.1 that keeps a book of what it was asked and what it did. It recognises repetitions as `idempotency` says, answers look-ups
 * from its book, and does to each request what `next` or `plan` say. Close it at the end; it is `await using` ready.
 */
export async function createProviderDouble(options: ProviderDoubleOptions = {}): Promise<HttpProviderDouble> {
  const book = openBook(options);
  const holder = createHolder();
  const server = createServer((request, response) => {
    // A connection that breaks is what the double is for.
    request.on('error', () => {});
    response.on('error', () => {});
    void textOf(request).then((body) => serve({ book, holder, options }, request, body, response));
  });
  return (await startDouble<Pick<HttpProviderDouble, 'protocol' | 'url'>>({
    book,
    holder,
    server,
    drop: () => server.closeAllConnections(),
    own: (port) => ({ protocol: 'http', url: `http://127.0.0.1:${port}` }),
  })) as HttpProviderDouble;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    // What did arrive of a request that was broken off is all there is.
  }
  return Buffer.concat(chunks).toString();
}
