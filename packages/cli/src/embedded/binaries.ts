import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { canReach, may, temporaryRoot } from './folders.js';
import type { Binaries } from './locate.js';
import type { ServerUser } from './user.js';

/**
 * Makes the binaries runnable by the server's user and returns them, or a copy of them.
 *
 * The npm packages create their library symlinks in an install script, which npm 12, pnpm and `--ignore-scripts` do not
 * run; and root's own node_modules may lie below a folder that the server's user cannot enter. The copy (about 60 MB) is
 * made once per version below the folder for temporary files and found again later.
 */
export function usableBinaries(binaries: Binaries, user: ServerUser | undefined): Binaries {
  const complete = repair(binaries.root);
  if (complete && reachable(binaries.root, user)) return binaries;
  return { ...binaries, root: copyOf(binaries, user) };
}

function reachable(root: string, user: ServerUser | undefined): boolean {
  if (!user) return true;
  const program = join(root, 'bin', 'postgres');
  const data = join(root, 'share');
  return canReach(root, user) && [program, data].every((path) => may('r', path, user) && may('x', path, user));
}

interface Link {
  readonly source: string;
  readonly target: string;
}

// Returns false when the folder is not ours to change.
function repair(root: string): boolean {
  const list = join(root, 'pg-symlinks.json');
  const links: Link[] = existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as Link[]) : [];
  try {
    for (const { source, target } of links) {
      const path = join(dirname(root), target);
      if (!lstatSync(path, { throwIfNoEntry: false })) link(basename(source), path);
    }
    for (const program of ['postgres', 'initdb']) executable(join(root, 'bin', program));
    return true;
  } catch (error) {
    if (codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM' || codeOf(error) === 'EROFS') return false;
    throw error;
  }
}

function link(to: string, path: string): void {
  try {
    symlinkSync(to, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error; // another process repaired it in the same moment
  }
}

function executable(path: string): void {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    chmodSync(path, 0o755);
  }
}

function copyOf(binaries: Binaries, user: ServerUser | undefined): string {
  const owner = process.getuid?.() ?? 0;
  const parent = temporaryRoot(user);
  const name = `comanda-postgres-${binaries.version}-${process.platform}-${process.arch}-${owner}`;
  const home = join(parent, name);
  if (trusted(home, owner) && sameFiles(binaries.root, join(home, 'native'))) return join(home, 'native');

  const fresh = mkdtempSync(join(parent, `${name}.new-`));
  cpSync(binaries.root, join(fresh, 'native'), { recursive: true, verbatimSymlinks: true });
  repair(join(fresh, 'native'));
  openForReading(fresh);
  try {
    if (trusted(home, owner)) rmSync(home, { recursive: true, force: true });
    renameSync(fresh, home);
    return join(home, 'native');
  } catch {
    // Another process was faster, or somebody else holds the name.
    if (!trusted(home, owner) || !sameFiles(binaries.root, join(home, 'native'))) return join(fresh, 'native');
    rmSync(fresh, { recursive: true, force: true });
    return join(home, 'native');
  }
}

// A name below /tmp can be taken by anybody; programs are only run from a folder that nobody else can write to.
function trusted(dir: string, owner: number): boolean {
  const stats = lstatSync(dir, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === owner && (stats.mode & 0o022) === 0;
}

// Cleaners of temporary folders remove old files one by one.
function sameFiles(original: string, copy: string): boolean {
  if (!existsSync(copy)) return false;
  const names = (root: string) => new Set(readdirSync(root, { recursive: true }).map(String));
  const present = names(copy);
  return [...names(original)].every((name) => present.has(name));
}

function openForReading(root: string): void {
  chmodSync(root, 0o755);
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    else if (entry.isFile()) chmodSync(path, (statSync(path).mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
