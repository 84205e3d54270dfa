import { type Repetition, repetitionOf } from '../../ports/key-contract.js';
import type { BookEntry, Fault, ProviderDoubleOptions, ReceivedRequest } from './types.js';

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A line that is still being written. */
export type OpenEntry = Writable<BookEntry>;

/** What the provider's own rules say about an act. */
export type Judgement =
  | { readonly verdict: 'accepted' | 'replayed'; readonly first: OpenEntry }
  | { readonly verdict: 'rejected'; readonly status: number; readonly why: string };

/** The provider's memory: what came, what happened, which keys it knows. */
export interface Book {
  readonly entries: readonly OpenEntry[];
  /** Whether whoever made the double said how it recognises repetitions. */
  readonly told: boolean;
  /** Set by the effect that is exercised when the provider was not told. */
  repetition: Repetition | undefined;
  enter(request: ReceivedRequest, fault: Fault | undefined): OpenEntry;
  /** Acts, or knows it again. Writes the verdict down. */
  judge(entry: OpenEntry): Judgement;
  elapse(ms: number): void;
  clear(): void;
}

interface KnownKey {
  readonly first: OpenEntry;
  readonly content: string;
  readonly at: number;
}

/** Opens a book. */
export function openBook(options: Pick<ProviderDoubleOptions, 'idempotency'>): Book {
  let entries: OpenEntry[] = [];
  let known = new Map<string, KnownKey>();
  let now = 0;

  const accept = (entry: OpenEntry, as: string | undefined): Judgement => {
    entry.verdict = 'accepted';
    if (as !== undefined) known.set(as, { first: entry, content: contentOf(entry), at: now });
    return { verdict: 'accepted', first: entry };
  };
  const reject = (entry: OpenEntry, status: number, why: string): Judgement => {
    entry.verdict = 'rejected';
    return { verdict: 'rejected', status, why };
  };

  const book: Book = {
    get entries() {
      return entries;
    },
    told: options.idempotency !== undefined,
    repetition: options.idempotency === undefined ? undefined : repetitionOf(options.idempotency),
    enter(request, fault) {
      const entry: OpenEntry = {
        ...request,
        number: entries.length + 1,
        at: now,
        verdict: 'received',
        ...(fault === undefined ? {} : { fault }),
      };
      entries.push(entry);
      return entry;
    },
    judge(entry) {
      const { idempotency, key: contract } = book.repetition ?? { idempotency: 'none' as const };
      if (idempotency === 'none') return accept(entry, undefined);
      const as = idempotency === 'natural' ? contentOf(entry) : entry.key;
      // A provider of keys takes a request without one, and will not know it again.
      if (as === undefined) return accept(entry, undefined);
      if (contract !== undefined && Buffer.byteLength(as) > contract.keyMaxBytes)
        return reject(entry, 400, `the idempotency key is longer than ${contract.keyMaxBytes} bytes`);
      const before = known.get(as);
      if (before === undefined || before.at + (contract?.lifetimeMs ?? Number.POSITIVE_INFINITY) <= now)
        return accept(entry, as);
      if (before.content !== contentOf(entry) && contract?.bodyMismatch !== 'ignored') {
        if (contract?.bodyMismatch === 'new-operation') return accept(entry, as);
        return reject(entry, 422, 'the idempotency key was used for another request');
      }
      entry.verdict = 'replayed';
      return { verdict: 'replayed', first: before.first };
    },
    elapse: (ms) => {
      now += ms;
    },
    clear: () => {
      entries = [];
      known = new Map();
    },
  };
  return book;
}

function contentOf({ method, path, body }: ReceivedRequest): string {
  return `${method} ${path}\n${body}`;
}
