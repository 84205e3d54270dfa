// Embeds packages/comanda/sql/**/*.sql into packages/comanda/src/generated/sql.ts.
//   node scripts/build-sql.mjs            writes the file when its content changed
//   node scripts/build-sql.mjs --check    exits 1 when the file on disk is not what would be written
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const sqlRoot = join(root, 'packages/comanda/sql');
const target = join(root, 'packages/comanda/src/generated/sql.ts');

const sha256 = (text) => createHash('sha256').update(text, 'utf8').digest('hex');
const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const read = (path) => readFileSync(path, 'utf8').replaceAll('\r\n', '\n');

/** Paths of all .sql files below `dir`, sorted by their path; empty when the folder does not exist. */
function sqlFiles(dir) {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.sql'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort(byName);
}

function migrations() {
  const found = sqlFiles(join(sqlRoot, 'migrations')).map((path) => {
    const name = basename(path, '.sql');
    const number = /^(\d+)[_-]/.exec(name);
    if (!number) throw new Error(`${relative(root, path)}: a migration is named <number>_<words>.sql`);
    const sql = read(path);
    return { version: Number(number[1]), name, sql, sha256: sha256(sql) };
  });
  found.sort((a, b) => a.version - b.version);
  found.forEach((migration, i) => {
    if (i > 0 && found[i - 1].version === migration.version) {
      throw new Error(`two migrations carry version ${migration.version}: ${found[i - 1].name}, ${migration.name}`);
    }
  });
  return found;
}

const named = (folder) =>
  sqlFiles(join(sqlRoot, folder)).map((path) => ({ name: basename(path, '.sql'), sql: read(path) }));

/** `queries/relay/claim.sql` becomes the key `relay/claim`. */
function queries() {
  const dir = join(sqlRoot, 'queries');
  return sqlFiles(dir).map((path) => [relative(dir, path).slice(0, -'.sql'.length).split(sep).join('/'), read(path)]);
}

function render() {
  const functions = named('functions');
  const views = named('views');
  const permissionsFile = join(sqlRoot, 'permissions.sql');
  const permissions = existsSync(permissionsFile) ? read(permissionsFile) : '';
  const routinesHash = sha256(JSON.stringify({ functions, views, permissions }));
  const list = (items) =>
    items.length === 0 ? '[]' : `[\n${items.map((i) => `  ${JSON.stringify(i)},`).join('\n')}\n]`;
  const record = (entries) =>
    entries.length === 0
      ? '{}'
      : `{\n${entries.map(([k, v]) => `  ${JSON.stringify(k)}: ${JSON.stringify(v)},`).join('\n')}\n}`;

  return [
    '// Made by scripts/build-sql.mjs from packages/comanda/sql; changes made here are overwritten.',
    '',
    'export const MIGRATIONS: readonly { readonly version: number; readonly name: string; readonly sql: string; readonly sha256: string }[] =',
    `  ${list(migrations())};`,
    '',
    `export const FUNCTIONS: readonly { readonly name: string; readonly sql: string }[] = ${list(functions)};`,
    '',
    `export const VIEWS: readonly { readonly name: string; readonly sql: string }[] = ${list(views)};`,
    '',
    `export const PERMISSIONS: string = ${JSON.stringify(permissions)};`,
    '',
    `export const QUERIES: Readonly<Record<string, string>> = ${record(queries())};`,
    '',
    '/** Over functions, views and permissions: tells an installed schema whose routines are older than this build. */',
    `export const ROUTINES_SHA256: string = ${JSON.stringify(routinesHash)};`,
    '',
  ].join('\n');
}

const wanted = render();
const current = existsSync(target) ? readFileSync(target, 'utf8') : undefined;

if (process.argv.includes('--check')) {
  if (current !== wanted) {
    console.error(`${relative(root, target)} is not up to date: run "npm run build:sql"`);
    process.exit(1);
  }
} else if (current !== wanted) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, wanted);
}
