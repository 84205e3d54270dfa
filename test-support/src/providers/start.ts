import { join } from 'node:path';
import { type Child, type ChildExit, spawnNode } from '../child.js';
import { afterThisTest } from '../cleanup.js';
import { temporaryFolder } from '../reaper.js';
import { type BookEntry, type BookEvent, readBook } from './book.js';
import type { Control } from './faults.js';

export interface ProviderStart {
  /** Default: a free port. */
  readonly port?: number;
  /** File of the book. Default: a new one, removed when this process ends. An existing one is read first: the provider remembers. */
  readonly book?: string;
  /** Seed of the faults' random numbers. Default 1. */
  readonly seed?: number;
  /** First fault settings. */
  readonly control?: Control;
  /** Header that carries the lane. Default `comanda-lane`. */
  readonly laneHeader?: string;
  /** Header that carries the fence. Default `comanda-fence`. */
  readonly fenceHeader?: string;
  /** Refuse lower fences (gateway only). Default `false`. */
  readonly fencing?: boolean;
  /** Gateway only: forgets keys two seconds after their first use. */
  readonly forgetful?: boolean;
}

export type ProviderStats = Readonly<Record<BookEvent | 'lookups', number>>;

/** A provider process. Ended after the test that started it, and when this process ends. */
export interface ProviderHandle {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Path of the book file. */
  readonly book: string;
  /** Changes the fault settings; they hold for requests received from now on. */
  control(change: Control): Promise<void>;
  /** Counts since the process started. */
  stats(): Promise<ProviderStats>;
  /** The book, read from the file: also after a kill. */
  entries(event?: BookEvent): BookEntry[];
  /** SIGKILL. What it had answered is in the book. Start again with the same `port` and `book`. */
  kill(): Promise<ChildExit>;
  /** Ends it in order. */
  stop(): Promise<ChildExit>;
  /** SIGSTOP: connections are accepted by the kernel and nothing answers. */
  pause(): void;
  resume(): void;
}

/** Starts the payment gateway (see gateway.ts). */
export function startGateway(options: ProviderStart = {}): Promise<ProviderHandle> {
  return start('gateway', options);
}

/** Starts the mail service (see mail.ts). */
export function startMail(options: ProviderStart = {}): Promise<ProviderHandle> {
  return start('mail', options);
}

async function start(name: 'gateway' | 'mail', options: ProviderStart): Promise<ProviderHandle> {
  const book = options.book ?? join(temporaryFolder(name), 'book.jsonl');
  const child = spawnNode(new URL(`../../dist/providers/${name}.js`, import.meta.url), args(options, book), {
    reap: false,
  });
  const { port } = await child.line<{ port: number }>((line) => line['ready'] === true);
  const handle = handleOf(child, port, book);
  afterThisTest(async () => {
    await handle.kill();
  });
  return handle;
}

function args(options: ProviderStart, book: string): string[] {
  const list = ['--book', book];
  const add = (name: string, value: string | number | undefined) => {
    if (value !== undefined) list.push(`--${name}`, String(value));
  };
  add('port', options.port);
  add('seed', options.seed);
  add('control', options.control && JSON.stringify(options.control));
  add('lane-header', options.laneHeader?.toLowerCase());
  add('fence-header', options.fenceHeader?.toLowerCase());
  if (options.fencing) list.push('--fencing');
  if (options.forgetful) list.push('--forgetful');
  return list;
}

function handleOf(child: Child, port: number, book: string): ProviderHandle {
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    pid: child.pid,
    book,
    async control(change) {
      const response = await fetch(`${url}/_control`, { method: 'POST', body: JSON.stringify(change) });
      if (!response.ok) throw new Error(`The provider refused the control: ${await response.text()}`);
    },
    async stats() {
      const response = await fetch(`${url}/_stats`);
      return (await response.json()) as ProviderStats;
    },
    entries: (event) => readBook(book).filter((entry) => event === undefined || entry.event === event),
    kill: () => child.kill('SIGKILL'),
    stop: () => child.kill('SIGTERM'),
    pause: child.pause,
    resume: child.resume,
  };
}
