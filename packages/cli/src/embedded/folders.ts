import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { ServerUser } from './user.js';
import { serverUser } from './user.js';

/** Whether `user` may enter every existing folder on the way to `path`, judged by the permission bits. */
export function canReach(path: string, user: ServerUser | undefined): boolean {
  if (!user) return true;
  const existing = deepestExisting(resolve(path));
  return [...foldersTo(existing), ...foldersTo(realpathSync(existing))].every((dir) => may('x', dir, user));
}

/** Whether `user` may read (`r`), write (`w`) or enter/execute (`x`) this one file or folder. */
export function may(what: 'r' | 'w' | 'x', path: string, user: ServerUser): boolean {
  const stats = statSync(path);
  const bit = { r: 4, w: 2, x: 1 }[what];
  return (stats.mode & (bit << shift(stats, user))) !== 0;
}

function shift(stats: Stats, user: ServerUser): number {
  if (stats.uid === user.uid) return 6;
  return stats.gid === user.gid ? 3 : 0;
}

function foldersTo(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [...foldersTo(parent), path];
}

function deepestExisting(path: string): string {
  return existsSync(path) ? path : deepestExisting(dirname(path));
}

/** A folder for temporary files that the server's user can reach. */
export function temporaryRoot(user: ServerUser | undefined): string {
  const candidates = [tmpdir(), '/tmp', '/var/tmp'];
  const found = candidates.find((dir) => existsSync(dir) && canReach(dir, user) && (!user || may('w', dir, user)));
  if (found) return found;
  throw new Error(
    `No folder for temporary files is open to the user that runs PostgreSQL (${user?.name ?? 'this one'}): tried ${candidates.join(', ')}. ` +
      'Set TMPDIR to a folder with mode 1777, or use a server of your own with --database-url.',
  );
}

/** A new, empty, private folder that belongs to the server's user. */
export function temporaryFolder(prefix: string, user: ServerUser | undefined): string {
  const dir = mkdtempSync(join(temporaryRoot(user), prefix));
  if (user) chownSync(dir, user.uid, user.gid);
  return dir;
}

/** Creates the missing folders on the way to `path` (not `path` itself), each open enough for the server's user to pass. */
export function makeWayTo(path: string, user: ServerUser | undefined): void {
  const parent = dirname(resolve(path));
  if (existsSync(parent)) return;
  makeWayTo(parent, user);
  mkdirSync(parent, { recursive: true });
  if (user && !may('x', parent, user)) chmodSync(parent, 0o711);
}

/**
 * Where `comanda dev` keeps its data for the project in `cwd`: `.comanda/postgres` below it, or, when the user that runs
 * the server could not reach that (root in a home directory of mode 700) or `cwd` is not writable, a folder below the
 * system's folder for temporary files whose name depends on `cwd` only.
 */
export function defaultDataDir(cwd: string): string {
  const user = serverUser();
  const local = join(resolve(cwd), '.comanda', 'postgres');
  if (canReach(local, user) && writable(deepestExisting(local))) return local;
  const path = existsSync(cwd) ? realpathSync(cwd) : resolve(cwd);
  const id = createHash('sha256')
    .update(`${process.getuid?.() ?? ''}:${path}`)
    .digest('hex')
    .slice(0, 16);
  return join(temporaryRoot(user), `comanda-postgres-${id}`);
}

function writable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Throws unless `dir`, when it exists, is a real folder of the server's user: names below /tmp can be taken by anybody. */
export function assertOwned(dir: string, user: ServerUser | undefined): void {
  const stats = lstatSync(dir, { throwIfNoEntry: false });
  if (!stats) return;
  const owner = user?.uid ?? process.getuid?.();
  if (stats.isDirectory() && (owner === undefined || stats.uid === owner)) return;
  throw new Error(
    `The data folder ${dir} cannot be used: it ${stats.isDirectory() ? `belongs to uid ${stats.uid}` : 'is not a folder'}, ` +
      `and PostgreSQL would run as uid ${owner}. Run as the user who created it, remove it, or name another folder.`,
  );
}
