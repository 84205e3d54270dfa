import type { SQL } from 'drizzle-orm';
import { comandaError } from '../../kernel/errors.js';
import type { Queryable, Transaction } from '../../ports/database.js';

/** What we use of a Drizzle database on `pg` or postgres.js, whatever its schema. */
export interface DrizzleLike {
  execute(query: never): PromiseLike<unknown>;
}

/** The argument of `db.transaction(async (tx) => …)`: it can be rolled back, the database cannot. */
export interface DrizzleTransactionLike extends DrizzleLike {
  rollback(): never;
}

/**
 * The caller's open transaction on Drizzle: the argument of `db.transaction(async (tx) => …)`. Await each decision inside that function: Drizzle does
 * not say when the transaction has ended.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION for the database itself
 */
export function drizzleTransaction(tx: DrizzleTransactionLike): Transaction {
  if (typeof tx.rollback !== 'function') throw comandaError('COMANDA_NOT_IN_TRANSACTION');
  return { inTransaction: true, query: (text, params) => rows(tx, text, params) };
}

/** A handle on which each statement commits by itself, for stand-alone decisions and for reading. */
export function drizzleStandalone(db: DrizzleLike): Queryable {
  return { query: (text, params) => rows(db, text, params) };
}

async function rows<Row>(db: DrizzleLike, text: string, params: readonly unknown[]): Promise<readonly Row[]> {
  const result = await db.execute((await query(text, params)) as never);
  // `pg` gives a result with rows, postgres.js the rows.
  return (Array.isArray(result) ? Array.from(result) : (result as { rows: unknown[] }).rows) as Row[];
}

/** Drizzle numbers parameters itself, so the text is cut at ours. Its tag is loaded when it is used: whoever has a handle has it installed. */
async function query(text: string, params: readonly unknown[]): Promise<SQL> {
  const { sql } = await import('drizzle-orm');
  const parts = text.split(/\$(\d+)/);
  return sql.join(parts.map((part, i) => (i % 2 === 0 ? sql.raw(part) : sql.param(params[Number(part) - 1]))));
}
