import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Child, spawnNode } from '@comanda/test-support';

/** The built command line, as its package installs it. */
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Standard output as JSON. */
  json<T>(): T;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

/** Runs one command to its end. Killed after 50 s. */
export function comanda(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [MAIN, ...args],
      {
        env: { ...process.env, ...configured(args), ...options.env },
        cwd: options.cwd,
        timeout: 50_000,
        killSignal: 'SIGKILL',
      },
      (error, out, err) => {
        const code = error === null ? 0 : error.code;
        if (typeof code !== 'number') {
          reject(new Error(`comanda ${args.join(' ')} did not end by itself:\n${out}${err}`, { cause: error }));
          return;
        }
        resolve({ code, out, err, json: <T>() => JSON.parse(out) as T });
      },
    );
  });
}

/** Relays are configured for the environment of the tests' databases. */
function configured([command]: readonly string[]): Readonly<Record<string, string>> {
  return command === 'relay' ? { COMANDA_ENVIRONMENT: 'test' } : {};
}

/** {@link comanda} on a database. */
export function on(url: string): (...args: readonly string[]) => Promise<CliResult> {
  return (...args) => comanda([...args, '--database-url', url]);
}

/** Starts a command that stays. */
export function comandaStays(args: readonly string[], options: CliOptions = {}): Child {
  return spawnNode(MAIN, args, { ...options, env: { ...configured(args), ...options.env } });
}
