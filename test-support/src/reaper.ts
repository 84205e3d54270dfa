import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';

/*
 * Nothing that a test started outlives the process that ran it. One shell per process holds the list of process groups to
 * kill; it reads from a pipe, and when this process ends, in whatever way, the read ends, and the shell kills what is on the
 * list and removes this process' temporary files.
 */
const SCRIPT = `
trap '' INT TERM HUP
folder=$1; list=
while read -r op pid; do
  case $op in
    +) list="$list $pid" ;;
    -) rest=; for p in $list; do [ "$p" = "$pid" ] || rest="$rest $p"; done; list=$rest ;;
  esac
done
for p in $list; do kill -s KILL -- "-$p" || kill -s KILL "$p"; done 2>/dev/null
rm -rf "$folder"
`;

interface Reaper {
  readonly shell: ChildProcessByStdio<Writable, null, null>;
  readonly folder: string;
}

let started: Reaper | undefined;
let folders = 0;

function reaper(): Reaper {
  if (started) return started;
  const folder = mkdtempSync(join(tmpdir(), 'comanda-test-'));
  chmodSync(folder, 0o711); // programs that refuse root must pass
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'comanda-reaper', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as Writable & { unref?(): void }).unref?.();
  started = { shell, folder };
  return started;
}

/** Puts a child, started with `detached: true`, on the list of what dies with this process. */
export function guard(pid: number): void {
  reaper().shell.stdin.write(`+ ${pid}\n`);
}

/** Takes a child that has ended from the list. */
export function unguard(pid: number): void {
  started?.shell.stdin.write(`- ${pid}\n`);
}

/** A new empty folder that is removed when this process ends, however it ends. */
export function temporaryFolder(name: string): string {
  folders += 1;
  const path = join(reaper().folder, `${folders}-${name}`);
  mkdirSync(path);
  return path;
}
