import type { Queryable } from 'comanda';
import { pgStandalone } from 'comanda/adapters/pg';
import { sqlstateOf } from 'comanda/internal';
import pg from 'pg';
import type { DatabaseChoice } from './database-choice.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** The server's own timeout comes first; this one is for connections that have gone silent. */
const ANSWER_SLACK_MS = 5_000;
/** "unsupported startup parameter" of poolers. */
const PROTOCOL_VIOLATION = '08P01';

export interface OpenOptions {
  readonly applicationName: string;
  readonly statementTimeoutMs: number;
  /** Connections at most. */
  readonly max: number;
  /** Told about idle connections that break. They are replaced; nothing is lost. */
  readonly onIdleError?: (error: Error) => void;
}

/** A pool on the database that was named. */
export interface Database {
  readonly db: Queryable;
  readonly pool: pg.Pool;
  /** Why the statement timeout is not in force, when it is not. */
  readonly warning?: string;
  close(): Promise<void>;
}

/**
 * Opens a pool and connects once, so that a wrong URL is told at once. The statement timeout travels as a start-up parameter; a pooler that
 * refuses or drops it is used without, with a warning.
 */
export async function openDatabase(choice: DatabaseChoice, options: OpenOptions): Promise<Database> {
  const { pool, warning } = await openPool(choice, options);
  return {
    pool,
    db: pgStandalone(pool),
    ...(warning === undefined ? {} : { warning }),
    close: () => pool.end(),
  };
}

async function openPool(
  choice: DatabaseChoice,
  options: OpenOptions,
): Promise<{ readonly pool: pg.Pool; readonly warning?: string }> {
  const strict = makePool(choice, options, true);
  try {
    const result = await strict.query<{ timeout: string }>(`select current_setting('statement_timeout') as timeout`);
    return result.rows[0]?.timeout === '0'
      ? { pool: strict, warning: warningFor('dropped', options) }
      : { pool: strict };
  } catch (error) {
    await strict.end();
    if (sqlstateOf(error) !== PROTOCOL_VIOLATION) throw error;
  }
  const plain = makePool(choice, options, false);
  try {
    const result = await plain.query<{ timeout: string }>(`select current_setting('statement_timeout') as timeout`);
    // The role may have one of its own, which is what the warning would ask for.
    return result.rows[0]?.timeout === '0' ? { pool: plain, warning: warningFor('refused', options) } : { pool: plain };
  } catch (error) {
    await plain.end();
    throw error;
  }
}

function makePool(choice: DatabaseChoice, options: OpenOptions, withTimeout: boolean): pg.Pool {
  const pool = new pg.Pool({
    connectionString: choice.url,
    application_name: options.applicationName,
    max: options.max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    query_timeout: options.statementTimeoutMs + ANSWER_SLACK_MS,
    ...(withTimeout ? { statement_timeout: options.statementTimeoutMs } : {}),
  });
  const onError = options.onIdleError ?? (() => {});
  pool.on('error', onError);
  // A client that is checked out and not in a query reports here; without a listener the process would end.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

function warningFor(what: 'refused' | 'dropped', { statementTimeoutMs }: OpenOptions): string {
  return (
    `The pooler ${what} statement_timeout as a start-up parameter, so a statement that hangs is not ended by the server. ` +
    `Set it on the role: alter role <login> set statement_timeout = '${Math.round(statementTimeoutMs)}ms'.`
  );
}

/** One connection of its own, without a statement timeout: for migrations. */
export async function withConnection<Result>(
  choice: DatabaseChoice,
  work: (db: Queryable) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: choice.url,
    application_name: 'comanda',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(pgStandalone(client));
  } finally {
    await client.end();
  }
}
