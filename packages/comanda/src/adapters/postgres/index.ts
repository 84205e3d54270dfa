import { comandaError } from '../../kernel/errors.js';
import type { Queryable, Transaction } from '../../ports/database.js';

/** What we use of a postgres.js handle. */
export interface PostgresSqlLike {
  unsafe(text: string, parameters: never[], options: { prepare: boolean }): PromiseLike<readonly unknown[]>;
}

/** The handle that `sql.begin(async (tx) => …)` gives: it can make savepoints, the root handle cannot. */
export interface PostgresTransactionLike extends PostgresSqlLike {
  savepoint: unknown;
}

/**
 * The caller's open transaction on postgres.js: the argument of `sql.begin(async (tx) => …)`. Await each decision inside that function:
 * postgres.js does not say when the transaction has ended.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION for the root handle and for a reserved connection
 */
export function postgresTransaction(tx: PostgresTransactionLike): Transaction {
  if (typeof tx.savepoint !== 'function') throw comandaError('COMANDA_NOT_IN_TRANSACTION');
  return { inTransaction: true, query: (text, params) => rows(tx, text, params) };
}

/** A handle on which each statement commits by itself, for stand-alone decisions and for reading. */
export function postgresStandalone(sql: PostgresSqlLike): Queryable {
  return { query: (text, params) => rows(sql, text, params) };
}

async function rows<Row>(sql: PostgresSqlLike, text: string, params: readonly unknown[]): Promise<readonly Row[]> {
  // `prepare: false`: named statements die behind a transaction pooler.
  const result = await sql.unsafe(text, [...params] as never[], { prepare: false });
  return (renames(sql) ? result.map((row) => named(sql, row)) : Array.from(result)) as Row[];
}

/** A handle made with a `transform` (postgres.camel) renames columns; its identifiers, `sql('runId')`, are the way back. */
function renames(sql: PostgresSqlLike): boolean {
  return columnName(sql, 'aB') !== 'aB';
}

function named(sql: PostgresSqlLike, row: unknown): unknown {
  return Object.fromEntries(Object.entries(row as object).map(([name, value]) => [columnName(sql, name), value]));
}

function columnName(sql: unknown, shown: string): string {
  if (typeof sql !== 'function') return shown;
  const identifier: unknown = sql(shown);
  const quoted =
    typeof identifier === 'object' && identifier !== null && 'value' in identifier ? identifier.value : undefined;
  return typeof quoted === 'string' ? quoted.slice(1, -1) : shown;
}
