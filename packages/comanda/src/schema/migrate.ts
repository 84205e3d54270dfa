import { FUNCTIONS, MIGRATIONS, PERMISSIONS, ROUTINES_SHA256, VIEWS } from '../generated/sql.js';
import { comandaError } from '../kernel/errors.js';
import { checkSchemaName, DEFAULT_SCHEMA, inSchema, quoteIdentifier } from '../kernel/schema-name.js';
import type { Queryable } from '../ports/database.js';
import { type Installed, readInstalled, refuseHiddenRows, SCHEMA_VERSION, tooNew } from './version.js';

const OLDEST_POSTGRESQL = 150000;

/** Options of {@link migrate}. */
export interface MigrateOptions {
  /** Name of the schema. Default: `comanda`. */
  readonly schema?: string;
  /** Name of the environment, e.g. `production`; stored with an installation that has none. Another name than the stored one is refused: see `adopt`. */
  readonly environment?: string;
  /** Prefix of the roles (`<prefix>_app`, `<prefix>_relay`, …). Default: `comanda`. */
  readonly rolePrefix?: string;
}

/** What {@link migrate} did. */
export interface MigrateResult {
  readonly schema: string;
  /** Version before; 0 when nothing was installed. */
  readonly from: number;
  readonly to: number;
  /** Names of the migrations that were applied now. */
  readonly applied: readonly string[];
  /** Whether functions, views and rights were written again. */
  readonly routines: boolean;
  /** Roles that do not exist because the installer may not create them. */
  readonly missingRoles: readonly string[];
}

/**
 * Brings a schema to this version, in one transaction, under a lock: any number of processes may call it at once.
 *
 * @param connection one connection of its own (not a pool), outside a transaction
 * @throws ComandaError COMANDA_SCHEMA_VERSION when the schema was made by a newer version than this one accepts, or the server is too old;
 *   COMANDA_NOT_ADOPTED when the installation belongs to another environment than the one given;
 *   COMANDA_ROWS_HIDDEN when row-level security hides rows of its tables from this login
 */
export async function migrate(connection: Queryable, options: MigrateOptions = {}): Promise<MigrateResult> {
  const schema = checkSchemaName(options.schema ?? DEFAULT_SCHEMA);
  await checkServer(connection);
  // READ COMMITTED whatever the session's default: the snapshot must be newer than the lock.
  await connection.query('begin isolation level read committed read write', []);
  try {
    // The lock comes before the first look at the catalog: `if not exists` is no protection between sessions.
    await connection.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`comanda migrate ${schema}`]);
    await connection.query(`select set_config('comanda.role_prefix', $1, true)`, [options.rolePrefix ?? 'comanda']);
    const result = await migrateLocked(connection, schema, options);
    await connection.query('commit', []);
    return result;
  } catch (error) {
    await connection.query('rollback', []).catch(() => undefined);
    throw error;
  }
}

async function migrateLocked(db: Queryable, schema: string, options: MigrateOptions): Promise<MigrateResult> {
  await refuseHiddenRows(db, schema);
  const installed = await readInstalled(db, schema);
  const from = installed?.schemaVersion ?? 0;
  if (installed !== undefined && installed.compatibleFrom > SCHEMA_VERSION) throw tooNew(schema, installed);
  refuseOtherName(installed, options.environment);
  const applied: string[] = [];
  let routines = false;
  // A newer schema that accepts this version is left alone: writing our older routines over it would undo an upgrade.
  if (from <= SCHEMA_VERSION) {
    if (installed === undefined) await createSchema(db, schema);
    for (const step of MIGRATIONS.filter((m) => m.version > from)) {
      await db.query(inSchema(step.sql, schema), []);
      applied.push(step.name);
    }
    if (applied.length > 0 || installed?.routinesSha256 !== ROUTINES_SHA256) {
      for (const part of [...FUNCTIONS, ...VIEWS]) await db.query(inSchema(part.sql, schema), []);
      routines = true;
    }
    // Rights are given at each run: an administrator may have made the roles meanwhile.
    await db.query(inSchema(PERMISSIONS, schema), []);
    await db.query(inSchema(installationSql(options.environment), schema), []);
    if (routines) await db.query(inSchema('select comanda.ensure_partitions(clock_timestamp())', schema), []);
  }
  return {
    schema,
    from,
    to: Math.max(from, SCHEMA_VERSION),
    applied,
    routines,
    missingRoles: await missingRoles(db, options.rolePrefix ?? 'comanda'),
  };
}

/** The whole installation as one SQL script, for administrators who run it themselves. Idempotent only through `comanda migrate`. */
export function migrationScript(options: MigrateOptions & { readonly from?: number } = {}): string {
  const schema = checkSchemaName(options.schema ?? DEFAULT_SCHEMA);
  const from = options.from ?? 0;
  const parts = [
    `-- Comanda, schema ${quoteIdentifier(schema)}, from version ${from} to ${SCHEMA_VERSION}. Run as the owner-to-be, in psql: everything or nothing.`,
    '\\set ON_ERROR_STOP on',
    'begin;',
    `select pg_advisory_xact_lock(hashtextextended(${literal(`comanda migrate ${schema}`)}, 0));`,
    `select set_config('comanda.role_prefix', ${literal(options.rolePrefix ?? 'comanda')}, true);`,
    ...(from === 0 ? [`create schema ${quoteIdentifier(schema)};`] : []),
    ...MIGRATIONS.filter((m) => m.version > from).map((m) => inSchema(m.sql, schema)),
    ...FUNCTIONS.map((f) => inSchema(f.sql, schema)),
    ...VIEWS.map((v) => inSchema(v.sql, schema)),
    inSchema(PERMISSIONS, schema),
    inSchema(`${installationSql(options.environment)};\nselect comanda.ensure_partitions(clock_timestamp());`, schema),
    'commit;',
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Writes down what is installed now. A first installation is adopted by this; afterwards neither fingerprint nor name is touched: a copy that is migrated stays a copy. */
function installationSql(environment: string | undefined): string {
  const name = environment === undefined ? 'null::text' : `${literal(environment)}::text`;
  return `insert into comanda.installation as i (schema_version, compatible_from, routines_sha256, environment, system_identifier, database_oid, timeline, adopted_by, adopted_at)
  select ${SCHEMA_VERSION}, 1, ${literal(ROUTINES_SHA256)}, coalesce(${name}, 'unset'), f.system_identifier, f.database_oid, f.timeline, 'migrate', clock_timestamp()
    from comanda.fingerprint() f
  on conflict (singleton) do update set schema_version = excluded.schema_version, compatible_from = excluded.compatible_from,
    routines_sha256 = excluded.routines_sha256, environment = case when i.environment = 'unset' then excluded.environment else i.environment end,
    adopted_by = coalesce(i.adopted_by, 'migrate'), adopted_at = coalesce(i.adopted_at, i.installed_at), migrated_at = clock_timestamp()
    where (i.schema_version, i.routines_sha256) is distinct from (excluded.schema_version, excluded.routines_sha256) or i.adopted_by is null
      or (i.environment = 'unset' and excluded.environment <> 'unset')`;
}

/** Another name than the one that stands there would make a copy of production act as staging, or the reverse: only a person does that. */
function refuseOtherName(installed: Installed | undefined, environment: string | undefined): void {
  if (installed === undefined || installed.environment === 'unset') return;
  if (environment === undefined || environment === installed.environment) return;
  throw comandaError('COMANDA_NOT_ADOPTED', {
    reason: `it belongs to the environment "${installed.environment}", not "${environment}"; migrate without a name, then adopt it under the new one`,
  });
}

/** A text as SQL literal; `E''` where a backslash could be read as an escape. */
function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

async function createSchema(db: Queryable, schema: string): Promise<void> {
  const [found] = await db.query<{ found: boolean }>(
    'select exists (select from pg_namespace where nspname = $1) as found',
    [schema],
  );
  // `create schema if not exists` asks for the right to create even when there is nothing to do.
  if (found?.found !== true) await db.query(`create schema ${quoteIdentifier(schema)}`, []);
}

async function checkServer(db: Queryable): Promise<void> {
  const [server] = await db.query<{ version: number; encoding: string; shown: string }>(
    `select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding, current_setting('server_version') as shown`,
    [],
  );
  if (server !== undefined && server.version < OLDEST_POSTGRESQL) {
    throw comandaError('COMANDA_SCHEMA_VERSION', {
      problem: `the server is PostgreSQL ${server.shown}; PostgreSQL 15 or newer is needed`,
    });
  }
  if (server !== undefined && server.encoding !== 'UTF8') {
    throw comandaError('COMANDA_SCHEMA_VERSION', {
      problem: `the database has encoding ${server.encoding}; UTF8 is needed, so that keys and payloads keep every character`,
    });
  }
}

async function missingRoles(db: Queryable, prefix: string): Promise<readonly string[]> {
  const wanted = ['app', 'relay', 'approver', 'operator', 'reader'].map((role) => `${prefix}_${role}`);
  const rows = await db.query<{ role: string }>(
    'select r as role from unnest($1::text[]) r where not exists (select from pg_roles p where p.rolname = r)',
    [wanted],
  );
  return rows.map((row) => row.role);
}
