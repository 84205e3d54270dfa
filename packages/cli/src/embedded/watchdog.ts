import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { ServerUser } from './user.js';

/*
 * A child that cannot outlive this process. A shell stands between the two and reads from a pipe whose other end only
 * this process holds. However this process ends, `kill -9` included, the kernel closes the pipe, the read returns, and the
 * shell ends the program and removes the folder it was told to remove.
 *
 *   $1 signal that ends the program   $2 folder to remove when this process is gone, or ''   $3... the program
 *
 * The reader is a builtin loop in a subshell, so there is no third program to leave behind. It tells the shell first
 * (USR1), then signals the program itself, for the case that the shell was killed. A program that ignores the signal for
 * ten seconds (a fast shutdown waits for walsenders) gets QUIT.
 */
const SCRIPT = `
stop=$1; folder=$2; shift 2
program=; orphaned=; helper=
insist() {
  orphaned=yes
  kill -s $stop $program
  ( n=0
    while kill -0 $program && [ $n -lt 10 ]; do sleep 1; n=$((n+1)); done
    kill -s QUIT $program
  ) >/dev/null 2>&1 & helper=$!
}
trap 'insist 2>/dev/null' USR1
trap 'kill -s $stop $program 2>/dev/null' INT TERM HUP
exec 3<&0 </dev/null
"$@" >&2 3<&- & program=$!
echo $program
( while read -r line <&3; do :; done; kill -s USR1 $$; kill -s $stop $program ) >/dev/null 2>&1 & reader=$!
exec 3<&-
code=0
while kill -0 $program 2>/dev/null; do wait $program; code=$?; done
kill $reader $helper 2>/dev/null
if [ "$orphaned" = yes ] && [ -n "$folder" ]; then rm -rf "$folder"; fi
exit $code
`;

export interface WatchedOptions {
  readonly user: ServerUser | undefined;
  /** How the program is ended when this process is gone. */
  readonly signal: 'INT' | 'QUIT' | 'KILL';
  /** Removed, with all in it, after the program was ended because this process is gone. */
  readonly removeWhenOrphaned?: string;
}

/** A program under the watchdog. */
export interface Watched {
  /** The program's own process id (not the shell's). Rejects when the shell could not be started. */
  readonly pid: Promise<number>;
  /** Resolves with the program's exit code, 128 + n after signal n. Never rejects. */
  readonly exited: Promise<number>;
  /** Calls `onLine` for each line the program prints; those already printed come first. */
  onLine(onLine: (line: string) => void): void;
  /** The last lines the program printed. */
  log(): string;
}

const KEPT_LINES = 60;

/** Runs a program with output on stderr under the watchdog. */
export function spawnWatched(program: string, args: readonly string[], options: WatchedOptions): Watched {
  const shell = spawn(
    '/bin/sh',
    ['-c', SCRIPT, 'comanda-watchdog', options.signal, options.removeWhenOrphaned ?? '', program, ...args],
    {
      cwd: '/', // the current folder may be one that the server's user cannot enter
      detached: true, // Ctrl-C in the terminal is for this process, which then stops the server in order
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(options.user ? { uid: options.user.uid, gid: options.user.gid } : {}),
    },
  );
  shell.stdin.on('error', () => {}); // a closed pipe is reported by `exited`
  const failed = new Promise<never>((_, reject) => shell.once('error', (error) => reject(cannotSpawn(error, options))));
  failed.catch(() => {});
  const exited = new Promise<number>((resolve) => {
    shell.once('error', () => resolve(127));
    // 'close' means that the last line was read; a surviving grandchild that holds the pipe must not delay the news.
    shell.once('exit', (code) => {
      const late = setTimeout(resolve, 500, code ?? 137);
      shell.once('close', () => {
        clearTimeout(late);
        resolve(code ?? 137);
      });
    });
  });
  return { pid: Promise.race([failed, programPid(shell)]), exited, ...lines(shell.stderr) };
}

async function programPid(shell: ChildProcessByStdio<Writable, Readable, Readable>): Promise<number> {
  let text = '';
  for await (const chunk of shell.stdout) {
    text += String(chunk);
    if (text.includes('\n')) break;
  }
  return Number.parseInt(text, 10);
}

function lines(stream: Readable): Pick<Watched, 'onLine' | 'log'> {
  const kept: string[] = [];
  const listeners: ((line: string) => void)[] = [];
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const parts = `${rest}${chunk}`.split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      kept.push(line);
      if (kept.length > KEPT_LINES) kept.shift();
      for (const listener of listeners) listener(line);
    }
  });
  return {
    log: () => kept.join('\n'),
    onLine(onLine) {
      for (const line of kept) onLine(line);
      listeners.push(onLine);
    },
  };
}

function cannotSpawn(error: Error, { user }: WatchedOptions): Error {
  const as = user ? ` as user ${user.name} (uid ${user.uid}; PostgreSQL refuses to run as root)` : '';
  return new Error(
    `The embedded PostgreSQL could not be started${as}: ${error.message}. ` +
      'Run as an ordinary user, or use a server of your own with --database-url.',
    { cause: error },
  );
}
