import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterThisTest, ifThisTestFails } from './cleanup.js';
import { eventually, withDeadline } from './eventually.js';
import { guard, unguard } from './reaper.js';

export interface ChildOptions {
  /** Added to this process' environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Options of Node itself, before the file. */
  readonly nodeArgs?: readonly string[];
  /** Runs as another user (only root may). */
  readonly uid?: number;
  readonly gid?: number;
  /** Default `true`: killed after the test in which it was started. `false`: lives until `kill`, or until this process ends. */
  readonly reap?: boolean;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child process that speaks JSON, one value a line, on its standard output. */
export interface Child {
  readonly pid: number;
  /** All JSON lines so far. Lines that are not JSON are in `output()` only. */
  readonly lines: readonly unknown[];
  /** Everything printed so far, both streams, for messages. */
  output(): string;
  /** The first line, come or to come, for which `fits` holds. Fails when the child ends without it, or after `withinMs` (default 10 000). */
  line<T>(fits: (line: Record<string, unknown>) => boolean, withinMs?: number): Promise<T>;
  /** Writes a JSON line to its standard input. */
  send(value: unknown): void;
  /** Sends a signal (default SIGKILL) to exactly this process and waits until it is gone. Works on a paused child, and on one that is gone. */
  kill(signal?: NodeJS.Signals, withinMs?: number): Promise<ChildExit>;
  /** SIGSTOP: the process stands still, its sockets stay open. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  readonly exited: Promise<ChildExit>;
}

/** Starts a built JavaScript file under this Node. It is always reaped: after the test, and when this process ends. */
export function spawnNode(file: string | URL, args: readonly string[] = [], options: ChildOptions = {}): Child {
  const path = file instanceof URL ? fileURLToPath(file) : file;
  return spawnProgram(process.execPath, [...(options.nodeArgs ?? []), path, ...args], options);
}

/** {@link spawnNode} for any program. */
export function spawnProgram(program: string, args: readonly string[], options: ChildOptions = {}): Child {
  const child = spawn(program, [...args], {
    detached: true, // a group of its own, so that what it starts can be reaped with it
    env: { ...process.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    ...(options.gid === undefined ? {} : { gid: options.gid }),
  });
  const { pid } = child;
  const failed = new Promise<Error>((resolve) => child.once('error', resolve));
  if (pid === undefined) return neverStarted(program, failed);
  guard(pid);
  const handle = handleOf(child, pid, program);
  if (options.reap !== false) {
    afterThisTest(async () => {
      await handle.kill('SIGKILL');
    });
    ifThisTestFails(() =>
      console.error(`printed by ${program} ${args.join(' ')} (process ${pid}):\n${handle.output()}`),
    );
  }
  return handle;
}

function handleOf(child: ChildProcessByStdio<Writable, Readable, Readable>, pid: number, program: string): Child {
  const lines: unknown[] = [];
  const printed: string[] = [];
  collect(child.stdout, printed, (line) => {
    const value = parsed(line);
    if (value !== undefined) lines.push(value);
  });
  collect(child.stderr, printed, () => {});
  child.stdin.on('error', () => {});
  let gone = false;
  const exited = once(child, 'close').then(([code, signal]): ChildExit => {
    gone = true;
    unguard(pid);
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  const output = () => printed.join('\n');
  return {
    pid,
    lines,
    output,
    exited,
    async line<T>(fits: (line: Record<string, unknown>) => boolean, withinMs = 10_000): Promise<T> {
      const isMatch = (line: unknown) =>
        typeof line === 'object' && line !== null && fits(line as Record<string, unknown>);
      const found = await eventually(() => lines.find(isMatch) ?? (gone ? 'ended' : undefined), {
        withinMs,
        everyMs: 5,
        what: `the expected line of ${program} (process ${pid})`,
      });
      if (found === 'ended')
        throw new Error(`Process ${pid} ended without the expected line. It printed:\n${output()}`);
      return found as T;
    },
    send: (value) => void child.stdin.write(`${JSON.stringify(value)}\n`),
    async kill(signal = 'SIGKILL', withinMs = 15_000) {
      if (!gone) {
        child.kill(signal);
        child.kill('SIGCONT'); // a paused process would never look at the signal
      }
      return await withDeadline(exited, withinMs, `ending process ${pid} with ${signal}`);
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

const KEPT_LINES = 2000;

function collect(stream: Readable, printed: string[], onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const parts = `${rest}${chunk}`.split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      printed.push(line);
      if (printed.length > KEPT_LINES) printed.shift();
      onLine(line);
    }
  });
  stream.on('end', () => {
    if (rest) printed.push(rest);
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

function neverStarted(program: string, failed: Promise<Error>): Child {
  const fail = async (): Promise<never> => {
    const error = await failed;
    throw new Error(`${program} could not be started: ${error.message}`, { cause: error });
  };
  const exited = failed.then((): ChildExit => ({ code: 127, signal: null }));
  return {
    pid: -1,
    lines: [],
    output: () => '',
    line: fail,
    send: () => {},
    kill: () => exited,
    pause: () => {},
    resume: () => {},
    exited,
  };
}
