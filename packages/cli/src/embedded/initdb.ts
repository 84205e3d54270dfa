import { chownSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeWayTo } from './folders.js';
import type { Binaries } from './locate.js';
import type { ServerUser } from './user.js';
import { spawnWatched } from './watchdog.js';

/** Superuser of every embedded server. */
export const SUPERUSER = 'postgres';

export interface InitOptions {
  readonly user: ServerUser | undefined;
  /** Whether to wait until the files are on disk. */
  readonly sync: boolean;
  /** The folder of an ephemeral server, removed as a whole when this process is killed meanwhile. */
  readonly temporary: string | undefined;
}

/**
 * Creates a cluster in `dataDir`. It is made under another name beside it and renamed when complete, so that a folder with
 * the final name is never half a cluster. When another process was faster, its cluster stays.
 */
export async function createCluster(binaries: Binaries, dataDir: string, options: InitOptions): Promise<void> {
  makeWayTo(dataDir, options.user);
  removeLeftovers(dataDir);
  const fresh = mkdtempSync(`${dataDir}.new-`);
  try {
    if (options.user) chownSync(fresh, options.user.uid, options.user.gid);
    await initdb(binaries, fresh, options);
    rename(fresh, dataDir);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

async function initdb(binaries: Binaries, dataDir: string, { user, sync, temporary }: InitOptions): Promise<void> {
  const args = ['-D', dataDir, '-U', SUPERUSER, '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-instructions'];
  if (!sync) args.push('--no-sync');
  const run = spawnWatched(join(binaries.root, 'bin', 'initdb'), args, {
    user,
    signal: 'INT',
    removeWhenOrphaned: temporary ?? dataDir,
  });
  await run.pid;
  const code = await run.exited;
  if (code !== 0) throw initFailed(dataDir, code, run.log());
}

function initFailed(dataDir: string, code: number, log: string): Error {
  const advice = log.includes('could not look up effective user ID')
    ? 'initdb needs an entry in /etc/passwd for the user it runs as: add one'
    : log.includes('not found') || log.includes('No such file or directory')
      ? 'The binaries are built for glibc 2.27 or newer and do not run on Alpine: install PostgreSQL there'
      : 'See the lines above for the cause; when it cannot be removed, run a server';
  return new Error(
    `A database cluster could not be created in ${dataDir}: initdb ended with code ${code}.\n${log}\n${advice}, and pass --database-url.`,
  );
}

function rename(fresh: string, dataDir: string): void {
  try {
    renameSync(fresh, dataDir);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
}

// Of a process that was killed while it created a cluster; a young one may still be at work.
function removeLeftovers(dataDir: string): void {
  const parent = dirname(dataDir);
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(`${basename(dataDir)}.new-`)) continue;
    const path = join(parent, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > 10 * 60_000) rmSync(path, { recursive: true, force: true });
  }
}
