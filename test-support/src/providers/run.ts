import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type BookEntry, openBook, readBook } from './book.js';
import { type Control, createFaults, type Fault, type Faults } from './faults.js';
import { type Answer, failure, laneAndFence, type ProviderRequest, readBody, receive, send } from './http.js';

/** What one kind of provider does; faults, the book and HTTP are the same for all. */
export interface Provider {
  /** A GET: what is known. Not in the book. */
  lookUp(look: LookUp): Answer;
  /** An answer when the request cannot be accepted (the verdict is noted), `undefined` when it can. */
  check(request: ProviderRequest): Answer | undefined;
  /** Makes the effect happen, notes it, and returns the answer. */
  accept(request: ProviderRequest): Answer;
  /** Marks the request as running until the returned function is called. */
  hold(request: ProviderRequest): () => void;
}

export interface LookUp {
  readonly query: URLSearchParams;
  readonly lane: string | null;
  readonly fence: string | null;
}

/** Creates a provider that knows what an earlier process wrote into the same book. */
export type CreateProvider = (history: readonly BookEntry[], flags: ReadonlySet<string>) => Provider;

/**
 * Runs a provider as the only work of this process. Command line: `--port N` (default: a free one), `--book FILE` (default:
 * none is kept), `--seed N` (default 1), `--control JSON` (first settings), `--lane-header`, `--fence-header`, and the
 * switches in `flags`. Prints `{"ready":true,"port":N}` when it listens on 127.0.0.1. Started with an IPC channel, it ends with
 * the process at its other end.
 */
export function runProvider(create: CreateProvider, flags: readonly string[] = []): void {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      book: { type: 'string', default: '/dev/null' },
      seed: { type: 'string', default: '1' },
      control: { type: 'string', default: '{}' },
      'lane-header': { type: 'string', default: 'comanda-lane' },
      'fence-header': { type: 'string', default: 'comanda-fence' },
      ...Object.fromEntries(flags.map((name) => [name, { type: 'boolean' as const }])),
    },
  });
  const given: Readonly<Record<string, unknown>> = values;
  const provider = create(readBook(values.book), new Set(flags.filter((name) => given[name] === true)));
  const book = openBook(values.book);
  const faults = createFaults(Number(values.seed));
  faults.control(JSON.parse(values.control) as Control);
  const names = { lane: values['lane-header'], fence: values['fence-header'] };
  let lookups = 0;

  const onRequest = async (req: IncomingMessage): Promise<Reply> => {
    const body = await readBody(req);
    const url = new URL(req.url ?? '/', 'http://provider');
    if (url.pathname === '/_control') return changed(faults, body);
    if (url.pathname === '/_stats') return { status: 200, body: { ...book.counts(), lookups } };
    if (req.method !== 'GET') return outcome(receive(req, url.pathname, body, book, names), provider, faults);
    lookups += 1;
    const mode = faults.mode();
    if (mode === 'hang') return 'silence';
    if (mode === 'refuse') return failure(faults.refuseStatus, mode);
    return provider.lookUp({ query: url.searchParams, ...laneAndFence(req.headers, names) });
  };
  const server = createServer((req, res) => {
    onRequest(req).then(
      (reply) => {
        if (reply === 'reset') res.socket?.resetAndDestroy();
        else if (reply !== 'silence') send(res, reply);
      },
      (error: unknown) => {
        if (req.complete) throw error; // a fault of the provider itself; otherwise the client went away: nothing was received
      },
    );
  });
  server.keepAliveTimeout = 60_000;
  server.on('error', (error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
  server.listen(Number(values.port), '127.0.0.1', () => {
    const address = server.address();
    console.log(JSON.stringify({ ready: true, port: typeof address === 'object' ? address?.port : 0 }));
  });
  endWithParent();
  process.once('SIGTERM', () => process.exit(0)); // each line of the book was written before its answer
}

function endWithParent(): void {
  if (process.send === undefined) return;
  process.once('disconnect', () => process.exit(0));
  if (!process.connected) process.exit(0); // it was gone before we listened
}

function changed(faults: Faults, body: string): Answer {
  try {
    faults.control(JSON.parse(body) as Control);
    return { status: 200, body: { ok: true } };
  } catch (error) {
    return failure(400, 'control', error instanceof Error ? error.message : String(error));
  }
}

/** `reset`: the connection breaks. `silence`: it stays open and nothing comes. */
type Reply = Answer | 'reset' | 'silence';

async function outcome(request: ProviderRequest, provider: Provider, faults: Faults): Promise<Reply> {
  const fault = faults.mode() ?? faults.next();
  if (fault && isBeforeAcceptance(fault)) return rejection(request, fault, faults);
  const verdict = provider.check(request);
  if (verdict) return verdict;
  if (fault === 'slow') {
    await held(request, provider, faults);
    return provider.accept(request); // whether or not the client still listens
  }
  const answer = provider.accept(request);
  if (fault === 'acceptSlow') await held(request, provider, faults);
  return fault === 'acceptDrop' ? 'reset' : answer;
}

async function held(request: ProviderRequest, provider: Provider, faults: Faults): Promise<void> {
  const release = provider.hold(request);
  await setTimeout(faults.slowMs);
  release();
}

type Rejection = Exclude<Fault, 'slow' | 'acceptDrop' | 'acceptSlow'>;

function isBeforeAcceptance(fault: Fault): fault is Rejection {
  return fault !== 'slow' && fault !== 'acceptDrop' && fault !== 'acceptSlow';
}

function rejection(request: ProviderRequest, fault: Rejection, faults: Faults): Reply {
  const status = {
    error500: 500,
    tooMany: 429,
    conflict: 409,
    refuse: faults.refuseStatus,
    dropBefore: 0,
    hang: 0,
  }[fault];
  request.note({ event: 'rejected', status, reason: fault });
  if (fault === 'hang') return 'silence';
  if (fault === 'dropBefore') return 'reset';
  const headers = { 'retry-after': String(faults.retryAfterS) };
  return { ...failure(status, fault), ...(fault === 'tooMany' && faults.retryAfterS > 0 ? { headers } : {}) };
}
