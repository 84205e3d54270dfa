import { comandaError, fromDatabaseError, sqlstateOf } from '../../kernel/errors.js';
import type { Queryable, Transaction } from '../../ports/database.js';

export { type PgListenerOptions, pgListener } from './listener.js';

/** What we use of a `pg` Client or PoolClient. */
export interface PgClientLike {
  query(statement: string | PgStatement, values: unknown[]): Promise<{ rows: unknown[]; command?: string | null }>;
  /** Of recent versions of `pg`: `I` idle, `T` in a transaction, `E` in a failed one. Without it the server is asked, in a round trip. */
  getTransactionStatus?(): string | null;
}

/** A statement whose answer is not waited for for ever: `pg` rejects it then, and its pools destroy the connection. */
export interface PgStatement {
  readonly text: string;
  readonly query_timeout: number;
}

/** What we use of a client that a `pg` Pool lends. */
export interface PgPoolClientLike extends PgClientLike {
  on(event: 'error', lost: (error: Error) => void): unknown;
  off(event: 'error', lost: (error: Error) => void): unknown;
  release(error?: Error | boolean): void;
}

/** What we use of a `pg` Pool. The second form is only there so that the type of its clients is found. */
export interface PgPoolLike<Client extends PgPoolClientLike> {
  connect(): Promise<Client>;
  connect(callback: never): unknown;
}

/**
 * The caller's open transaction on a `pg` client, after `await client.query('begin')`.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION when a statement is run and no transaction is open: a pool, a client before `begin` or
 *   after `commit`
 */
export function pgTransaction(client: PgClientLike): Transaction {
  return {
    inTransaction: true,
    async query<Row>(text: string, params: readonly unknown[]): Promise<readonly Row[]> {
      await requireOpen(client);
      return await rows<Row>(client, text, params);
    },
  };
}

/** A handle on which each statement commits by itself, for stand-alone decisions and for reading: a pool, or a client outside a transaction. */
export function pgStandalone(pool: Pick<PgClientLike, 'query'>): Queryable {
  return {
    query: (text, params, withinMs) =>
      rows(pool, withinMs === undefined ? text : { text, query_timeout: withinMs }, params),
  };
}

/**
 * Runs `work` in a transaction of its own: commits when it resolves, rolls back when it rejects. A client that cannot be rolled back is
 * destroyed, so that no failed transaction goes back to the pool.
 *
 * @param work gets the transaction for decide() and the client for the caller's own statements
 * @throws what `work` throws; COMANDA_RETRYABLE when COMMIT asks for the transaction to be repeated; COMANDA_NOT_IN_TRANSACTION when
 *   `work` hid the failure of a statement, so that there was nothing left to commit
 */
export async function inPgTransaction<Result, Client extends PgPoolClientLike>(
  pool: PgPoolLike<Client>,
  work: (tx: Transaction, client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A lent client whose connection dies emits an error that would end the process; the next statement reports it anyway.
  const lost = (error: Error): void => {
    broken = error;
  };
  client.on('error', lost);
  try {
    await client.query('begin', []);
    const result = await work(pgTransaction(client), client);
    await commit(client);
    return result;
  } catch (error) {
    await client.query('rollback', []).catch((reason: unknown) => {
      broken ??= reason instanceof Error ? reason : new Error(String(reason));
    });
    throw error;
  } finally {
    client.off('error', lost);
    client.release(broken);
  }
}

async function commit(client: PgClientLike): Promise<void> {
  const { command } = await client
    .query('commit', [])
    .catch((error: unknown) => Promise.reject(fromDatabaseError(error)));
  // A failed transaction answers COMMIT with ROLLBACK, and no error.
  if (command === 'ROLLBACK') {
    throw comandaError('COMANDA_NOT_IN_TRANSACTION', { reason: 'a statement had failed, so COMMIT rolled back' });
  }
}

async function rows<Row>(
  client: Pick<PgClientLike, 'query'>,
  statement: string | PgStatement,
  params: readonly unknown[],
): Promise<readonly Row[]> {
  // An unnamed statement: named ones die behind a transaction pooler.
  const result = await client.query(statement, [...params]);
  return result.rows as readonly Row[];
}

async function requireOpen(client: PgClientLike): Promise<void> {
  if (client.getTransactionStatus !== undefined) {
    const status = client.getTransactionStatus();
    if (status !== 'T' && status !== 'E') throw comandaError('COMANDA_NOT_IN_TRANSACTION');
    return;
  }
  try {
    await client.query('savepoint comanda_probe; release savepoint comanda_probe', []);
  } catch (cause) {
    throw sqlstateOf(cause) === '25P01' ? comandaError('COMANDA_NOT_IN_TRANSACTION', {}, { cause }) : cause;
  }
}
