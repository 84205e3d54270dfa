import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * `received`: a request was read completely. Each is followed by one of: `accepted` (the effect happened, now and once more
 * than before), `replayed` (the answer of an earlier acceptance with this key), `refused` (key used with another body),
 * `in_progress` (the first request with this key is still running), `rejected` (nothing happened; `reason` says why).
 */
export type BookEvent = 'received' | 'accepted' | 'replayed' | 'refused' | 'rejected' | 'in_progress';

/** One line of the book: what the provider, and nobody else, knows to have happened. */
export interface BookEntry {
  /** Position in the book, from 1, also across restarts. */
  readonly n: number;
  /** Milliseconds since 1970. */
  readonly t: number;
  readonly event: BookEvent;
  /** `n` of the `received` line this line answers; its own on that line. */
  readonly request: number;
  /** The idempotency key sent, whether the provider honours it or not. */
  readonly key: string | null;
  readonly method: string;
  readonly path: string;
  /** The body exactly as received. */
  readonly body: string;
  readonly lane: string | null;
  readonly fence: string | null;
  /** Who asked: the User-Agent. */
  readonly client: string | null;
  /** The provider's identifier of what it accepted or replayed. */
  readonly id?: string;
  /** HTTP status answered, or meant to be; 0 when the connection was dropped or left without an answer. */
  readonly status?: number;
  readonly reason?: string;
}

export type BookLine = Omit<BookEntry, 'n' | 't' | 'request'> & { readonly request?: number };

export interface Book {
  /** Writes a line before it returns; what was answered afterwards is in the file. Returns the line's `n`. */
  write(line: BookLine): number;
  /** Lines written, by event, since this process started. */
  counts(): Readonly<Record<BookEvent, number>>;
  close(): void;
}

/** Opens a book for appending. */
export function openBook(file: string): Book {
  let n = readBook(file).at(-1)?.n ?? 0;
  const partial = existsSync(file) && !/(^|\n)$/.test(readFileSync(file, 'utf8'));
  const fd = openSync(file, 'a', 0o644);
  if (partial) writeSync(fd, '\n'); // the writer was killed in the middle of a line
  const counts: Record<BookEvent, number> = {
    received: 0,
    accepted: 0,
    replayed: 0,
    refused: 0,
    rejected: 0,
    in_progress: 0,
  };
  return {
    write(line) {
      n += 1;
      counts[line.event] += 1;
      writeSync(fd, `${JSON.stringify({ n, t: Date.now(), request: n, ...line })}\n`);
      return n;
    },
    counts: () => counts,
    close: () => closeSync(fd),
  };
}

/** All complete lines of a book; empty when there is none. */
export function readBook(file: string): BookEntry[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as BookEntry];
      } catch {
        return []; // empty, or cut off by a kill
      }
    });
}
