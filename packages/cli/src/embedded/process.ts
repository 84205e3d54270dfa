import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './locate.js';
import { isAlive } from './pidfile.js';
import type { ServerUser } from './user.js';
import { spawnWatched, type Watched } from './watchdog.js';

export interface PostmasterOptions {
  readonly binaries: Binaries;
  readonly dataDir: string;
  readonly user: ServerUser | undefined;
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
  /** Removed by the watchdog when this process is killed; the server is then ended at once instead of in order. */
  readonly temporary: string | undefined;
}

/** How a server ended. */
export interface ExitNotice {
  /** `true` after `stop()`; `false` when the server ended without being asked. */
  readonly expected: boolean;
  /** Exit code of the server, 128 + n after signal n. */
  readonly code: number;
  /** The last lines of the server's log. */
  readonly log: string;
}

export interface Postmaster {
  readonly pid: number;
  readonly exited: Promise<ExitNotice>;
  /** Ends the server: in order, then at once, then by force. Always resolves, also when it is already gone. */
  stop(): Promise<void>;
}

/** Why a server did not come up. `portTaken` and `oldServerLeaving` pass. */
export type StartFailure = 'portTaken' | 'oldServerLeaving' | 'failed' | 'timeout';

export class StartError extends Error {
  readonly failure: StartFailure;
  constructor(failure: StartFailure, message: string) {
    super(message);
    this.name = 'Error';
    this.failure = failure;
  }
}

const READY_WITHIN_MS = 60_000; // crash recovery of a large folder takes its time
const ORDERLY_MS = 10_000;
const AT_ONCE_MS = 7_000; // PostgreSQL kills its own children after 5 s

/** Starts a server and resolves when it accepts connections. Rejects with a {@link StartError}. */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const watched = spawnWatched(join(options.binaries.root, 'bin', 'postgres'), args(options), {
    user: options.user,
    signal: options.temporary ? 'QUIT' : 'INT',
    ...(options.temporary ? { removeWhenOrphaned: options.temporary } : {}),
  });
  const pid = await watched.pid;
  const end = ending(watched, pid);
  const outcome = await firstOf(watched);
  if (outcome === 'ready') {
    return { pid, exited: end.exited, stop: () => end.stop(options.temporary ? 'SIGQUIT' : 'SIGINT') };
  }
  await end.stop('SIGQUIT');
  throw failure(outcome, options, watched.log());
}

function args({ dataDir, port, settings }: PostmasterOptions): string[] {
  const all = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '', ...settings };
  return ['-D', dataDir, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

async function firstOf(watched: Watched): Promise<'ready' | 'exited' | 'timeout'> {
  const timer = new AbortController();
  const ready = new Promise<'ready'>((resolve) => {
    watched.onLine((line) => {
      // A hot standby says "ready to accept read-only connections".
      if (/ready to accept (read-only )?connections/.test(line)) resolve('ready');
    });
  });
  const exited = watched.exited.then(() => 'exited' as const);
  const timeout = delay(READY_WITHIN_MS, 'timeout' as const, { signal: timer.signal });
  timeout.catch(() => {});
  const outcome = await Promise.race([ready, exited, timeout]);
  timer.abort();
  return outcome;
}

function ending(
  watched: Watched,
  pid: number,
): { exited: Promise<ExitNotice>; stop: (first: Signal) => Promise<void> } {
  let expected = false;
  let stopping: Promise<void> | undefined;
  const exited = watched.exited.then(async (code): Promise<ExitNotice> => {
    await leftAlone(pid);
    return { expected, code, log: watched.log() };
  });
  const stop = async (first: Signal) => {
    expected = true;
    const steps: [Signal, number][] = [
      [first, first === 'SIGQUIT' ? AT_ONCE_MS : ORDERLY_MS],
      ['SIGQUIT', AT_ONCE_MS],
      ['SIGKILL', AT_ONCE_MS],
    ];
    for (const [signal, patience] of steps) {
      signalTo(pid, signal);
      if (await within(exited, patience)) return;
    }
  };
  return {
    exited,
    stop(first) {
      stopping ??= stop(first);
      return stopping;
    },
  };
}

type Signal = 'SIGINT' | 'SIGQUIT' | 'SIGKILL';

// Somebody killed the shell alone: nothing supervises the server any more, so it goes too.
async function leftAlone(pid: number): Promise<void> {
  while (isAlive(pid)) {
    signalTo(pid, 'SIGINT');
    await delay(50);
  }
}

function signalTo(pid: number, signal: Signal): void {
  try {
    process.kill(pid, signal);
  } catch {
    // already gone
  }
}

async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const timeout = delay(ms, false, { signal: timer.signal });
  timeout.catch(() => {});
  const done = await Promise.race([promise.then(() => true), timeout]);
  timer.abort();
  return done;
}

function failure(outcome: 'exited' | 'timeout', options: PostmasterOptions, log: string): StartError {
  if (outcome === 'timeout') {
    return new StartError(
      'timeout',
      `PostgreSQL on ${options.dataDir} did not accept connections within ${READY_WITHIN_MS / 1000} s.\n${log}`,
    );
  }
  if (log.includes('Address already in use')) {
    return new StartError(
      'portTaken',
      `PostgreSQL could not listen on 127.0.0.1:${options.port}: another program uses that port. Name another one, or none to have a free one chosen.`,
    );
  }
  const leaving = log.includes('pre-existing shared memory block') || log.includes('lock file "postmaster.pid"');
  return new StartError(
    leaving ? 'oldServerLeaving' : 'failed',
    `PostgreSQL could not be started on ${options.dataDir}:\n${log}\nRemove the cause, or use a server of your own with --database-url.`,
  );
}
