import { comandaError } from '../../kernel/errors.js';
import type { Queryable, Transaction } from '../../ports/database.js';

/** What we use of a `pg` Client or PoolClient. */
export interface PgClientLike {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
  /** pg 8.17 and newer: `I` idle, `T` in a transaction, `E` in a failed one. */
  getTransactionStatus?(): string | null;
}

/** What we use of a `pg` Pool. */
export interface PgPoolLike {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
  connect(): Promise<PgClientLike & { release(error?: Error | boolean): void }>;
}

/**
 * The caller's open transaction on a `pg` client, after `await client.query('begin')`.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION for a pool, or a client on which no transaction is open, now or when a statement is run
 */
export function pgTransaction(client: PgClientLike): Transaction {
  requireOpen(client);
  return {
    inTransaction: true,
    async query<Row>(text: string, params: readonly unknown[]): Promise<readonly Row[]> {
      requireOpen(client);
      return await rows<Row>(client, text, params);
    },
  };
}

/** A handle on which each statement commits by itself, for stand-alone decisions and for reading. */
export function pgStandalone(pool: Pick<PgPoolLike, 'query'>): Queryable {
  return {
    query: <Row>(text: string, params: readonly unknown[]) => rows<Row>(pool, text, params),
  };
}

/**
 * Runs `work` in a transaction of its own: commits when it resolves, rolls back when it rejects. A client that cannot be rolled back is destroyed,
 * so that no aborted transaction goes back to the pool.
 *
 * @param work gets the transaction for decide() and the client for the caller's own statements
 */
export async function inPgTransaction<Result, Client extends PgClientLike & { release(error?: Error | boolean): void }>(
  pool: { connect(): Promise<Client> },
  work: (tx: Transaction, client: Client) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin', []);
    const result = await work(pgTransaction(client), client);
    await client.query('commit', []);
    return result;
  } catch (error) {
    await client.query('rollback', []).catch((reason: unknown) => {
      broken = reason instanceof Error ? reason : new Error('rollback failed');
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

async function rows<Row>(client: Pick<PgClientLike, 'query'>, text: string, params: readonly unknown[]): Promise<readonly Row[]> {
  // An unnamed statement: named ones die behind a transaction pooler.
  const result = await client.query(text, [...params]);
  return result.rows as readonly Row[];
}

function requireOpen(client: PgClientLike): void {
  const status = client.getTransactionStatus?.();
  if (status !== 'T' && status !== 'E') throw comandaError('COMANDA_NOT_IN_TRANSACTION');
}
