import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A process of the demo. */
export interface Part {
  readonly name: string;
  readonly pid: number;
  /** What it said when it was ready. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly exited: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface PartSpec {
  readonly name: string;
  /** A built JavaScript file. */
  readonly file: URL;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What it prints on standard error is appended to this file. */
  readonly log: string;
}

const READY_WITHIN_MS = 30_000;

/** Starts a process and resolves when it says `{"ready":true, …}`. It cannot outlive this one: it ends when the IPC channel closes. */
export async function startPart(spec: PartSpec): Promise<Part> {
  const log = openSync(spec.log, 'a');
  const child = spawn(process.execPath, [fileURLToPath(spec.file), ...(spec.args ?? [])], {
    detached: true, // Ctrl-C in the terminal is for the demo, which then ends its parts in order
    env: { ...process.env, ...spec.env },
    stdio: ['ignore', 'pipe', log, 'ipc'],
  });
  closeSync(log);
  const exited = new Promise<Ended>((resolve) => {
    child.once('error', () => resolve({ code: 127, signal: null }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const facts = await Promise.race([firstLine(child), exited.then(() => undefined), timeout()]);
  const { pid } = child;
  if (facts === undefined || pid === undefined) {
    child.kill('SIGKILL');
    throw new Error(`${spec.name} did not start.\n${tail(spec.log)}`);
  }
  return { name: spec.name, pid, facts, exited, kill: (signal) => void child.kill(signal) };
}

/** The last lines of a log file. */
export function tail(file: string, lines = 20): string {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
}

function firstLine(child: ChildProcess): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const line = text.split('\n').find((part) => part.startsWith('{"ready"') && part.endsWith('}'));
      if (line !== undefined) resolve(JSON.parse(line) as Record<string, unknown>);
    });
  });
}

function timeout(): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(resolve, READY_WITHIN_MS, undefined).unref();
  });
}
