import { readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';

/** What a running server says about itself in `postmaster.pid`. */
export interface PidFile {
  readonly pid: number;
  readonly port: number;
  /** `starting`, `ready`, `stopping`, …; empty while the server has not written it. */
  readonly status: string;
}

/** Reads `postmaster.pid`; `undefined` when there is none. */
export function readPidFile(dataDir: string): PidFile | undefined {
  const text = read(join(dataDir, 'postmaster.pid'));
  if (text === undefined) return undefined;
  const lines = text.split('\n').map((line) => line.trim());
  return { pid: Math.abs(Number(lines[0])), port: Number(lines[3]), status: lines[7] ?? '' };
}

/**
 * Whether process `pid` is a server on `dataDir`. A process id alone proves nothing: after a restart of a container the
 * same number soon belongs to something else. A server's working directory is its data folder; where the system does not
 * show it, a live process counts as the server.
 */
export function isServerOn(dataDir: string, pid: number): boolean {
  if (!isAlive(pid)) return false;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dataDir);
  } catch {
    return process.platform !== 'linux' || isAlive(pid);
  }
}

export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
