import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Binaries } from './locate.js';
import { isServerOn, readPidFile } from './pidfile.js';

// A server whose owner was killed a moment ago is still closing down: worth waiting for. One that stays `ready` has an owner.
const CLOSING_MS = 15_000;
const OWNED_AFTER_MS = 750;
const LOOK_EVERY_MS = 20;

/**
 * Makes sure that a server may be started on an existing data folder: written by the same major version, no live server on
 * it. Waits for one that is closing down, removes the pid file of one that is gone, refuses when one is running.
 */
export async function claimDataDir(dataDir: string, binaries: Binaries): Promise<void> {
  const written = readFileSync(join(dataDir, 'PG_VERSION'), 'utf8').trim();
  if (written !== String(binaries.major)) {
    throw new Error(
      `The data folder ${dataDir} was written by PostgreSQL ${written}, the installed binaries are version ${binaries.version}: ` +
        'one major version cannot read the files of another. Use the matching version, name another folder, or remove this one if its data is not needed.',
    );
  }
  await noLiveServer(dataDir);
}

async function noLiveServer(dataDir: string): Promise<void> {
  const began = performance.now();
  for (;;) {
    const file = readPidFile(dataDir);
    if (!file) return;
    if (!isServerOn(dataDir, file.pid)) {
      // Otherwise PostgreSQL would refuse to start when the number belongs to another process of the same user by now.
      rmSync(join(dataDir, 'postmaster.pid'), { force: true });
      return;
    }
    const waited = performance.now() - began;
    if (waited > (file.status === 'ready' ? OWNED_AFTER_MS : CLOSING_MS)) throw alreadyRunning(dataDir, file);
    await delay(LOOK_EVERY_MS);
  }
}

function alreadyRunning(dataDir: string, { pid, port }: { pid: number; port: number }): Error {
  return new Error(
    `A PostgreSQL server (process ${pid}, port ${port}) is already running on ${dataDir}, started by another process, ` +
      'and two servers on one folder would destroy it. Stop the other process, connect to its server with ' +
      `--database-url postgresql://postgres@127.0.0.1:${port}/postgres, or name another data folder.`,
  );
}

/** `absent` also when the folder exists and is empty. Throws when it holds something that is not a cluster. */
export function stateOfDataDir(dataDir: string): 'absent' | 'cluster' {
  if (!existsSync(dataDir)) return 'absent';
  const names = readdirSync(dataDir);
  if (names.length === 0) return 'absent';
  if (names.includes('PG_VERSION')) return 'cluster';
  throw new Error(
    `The folder ${dataDir} is not empty and is no PostgreSQL data folder, so nothing was written to it. Name another folder.`,
  );
}
