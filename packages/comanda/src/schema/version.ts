import { MIGRATIONS } from '../generated/sql.js';
import { comandaError } from '../kernel/errors.js';
import { checkSchemaName, inSchema, quoteIdentifier } from '../kernel/schema-name.js';
import type { Queryable } from '../ports/database.js';

/** The schema version that this build was written for. */
export const SCHEMA_VERSION: number = MIGRATIONS.at(-1)?.version ?? 0;

/** What is installed in a schema. */
export interface Installed {
  readonly schemaVersion: number;
  /** The oldest build that may work on this schema. */
  readonly compatibleFrom: number;
  readonly routinesSha256: string;
  readonly environment: string;
  readonly payloadMaxBytes: number;
}

/** Reads what is installed; `undefined` when there is nothing. */
export async function readInstalled(db: Queryable, schema: string): Promise<Installed | undefined> {
  const name = checkSchemaName(schema);
  const [found] = await db.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
    `${quoteIdentifier(name)}.installation`,
  ]);
  if (found?.found !== true) return undefined;
  const [row] = await db.query<{ v: number; c: number; r: string; e: string; p: number }>(
    inSchema(
      'select schema_version as v, compatible_from as c, routines_sha256 as r, environment as e, payload_max_bytes as p from comanda.installation',
      schema,
    ),
    [],
  );
  if (row === undefined) await refuseHiddenRows(db, schema, 'installation');
  return row === undefined
    ? undefined
    : {
        schemaVersion: row.v,
        compatibleFrom: row.c,
        routinesSha256: row.r,
        environment: row.e,
        payloadMaxBytes: row.p,
      };
}

/**
 * Refuses to go on where row-level security hides rows of a table, or of any table of the schema, from this login.
 *
 * @throws ComandaError COMANDA_ROWS_HIDDEN
 */
export async function refuseHiddenRows(db: Queryable, schema: string, table?: string): Promise<void> {
  const [hidden] = await db.query<{ tables: string | null }>(
    `select string_agg(format('%I.%I', n.nspname, c.relname), ', ' order by c.relname) as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relkind in ('r', 'p') and not c.relispartition and c.relname = coalesce($2, c.relname) and row_security_active(c.oid)`,
    [schema, table ?? null],
  );
  if (typeof hidden?.tables === 'string') throw comandaError('COMANDA_ROWS_HIDDEN', { tables: hidden.tables });
}

/**
 * Refuses to send from where row-level security hides rows from the functions of the schema.
 *
 * @throws ComandaError COMANDA_ROWS_HIDDEN
 */
export async function refuseBlindFunctions(db: Queryable, schema: string): Promise<void> {
  const hidden = await db.query<{ relation: string }>(
    inSchema('select relation from comanda.hidden_rows() where from_functions', schema),
    [],
  );
  if (hidden.length > 0)
    throw comandaError('COMANDA_ROWS_HIDDEN', { tables: hidden.map(({ relation }) => relation).join(', ') });
}

/**
 * Refuses to work on a schema that this build does not fit: older than it was written for, or so new that it no longer accepts this build.
 *
 * @throws ComandaError COMANDA_SCHEMA_MISSING, COMANDA_SCHEMA_VERSION
 */
export async function checkVersion(db: Queryable, schema: string): Promise<Installed> {
  const installed = await readInstalled(db, schema);
  if (installed === undefined) throw comandaError('COMANDA_SCHEMA_MISSING', { schema });
  if (installed.schemaVersion < SCHEMA_VERSION) {
    throw comandaError('COMANDA_SCHEMA_VERSION', {
      problem: `the schema "${schema}" has version ${installed.schemaVersion}, this program needs ${SCHEMA_VERSION}: run "comanda migrate" first`,
    });
  }
  if (installed.compatibleFrom > SCHEMA_VERSION) throw tooNew(schema, installed);
  return installed;
}

/** The error about a schema that does not accept this build any more. */
export function tooNew(schema: string, installed: Installed): Error {
  return comandaError('COMANDA_SCHEMA_VERSION', {
    problem: `the schema "${schema}" has version ${installed.schemaVersion} and accepts programs from version ${installed.compatibleFrom} on, this one was written for ${SCHEMA_VERSION}: update it`,
  });
}
