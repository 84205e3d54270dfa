import { comandaError } from '../../kernel/errors.js';
import { withQuestionMarks } from '../../kernel/question-marks.js';
import type { Queryable, Transaction } from '../../ports/database.js';

/** What we use of a Knex instance on PostgreSQL. */
export interface KnexLike {
  raw(sql: string, bindings: readonly never[]): PromiseLike<unknown>;
}

/** A transaction of Knex. */
export interface KnexTransactionLike extends KnexLike {
  readonly isTransaction?: boolean;
  isCompleted(): boolean;
}

/**
 * The caller's open transaction on Knex: the argument of `knex.transaction(async (trx) => …)`, or what `knex.transaction()` resolves to.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION for the root instance; when a statement is run after the transaction has ended
 */
export function knexTransaction(trx: KnexTransactionLike): Transaction {
  if (trx.isTransaction !== true) throw comandaError('COMANDA_NOT_IN_TRANSACTION');
  return {
    inTransaction: true,
    query: async (text, params) => {
      if (trx.isCompleted()) throw comandaError('COMANDA_NOT_IN_TRANSACTION');
      return await rows(trx, text, params);
    },
  };
}

/** A handle on which each statement commits by itself, for stand-alone decisions and for reading. */
export function knexStandalone(knex: KnexLike): Queryable {
  return { query: (text, params) => rows(knex, text, params) };
}

async function rows<Row>(knex: KnexLike, text: string, params: readonly unknown[]): Promise<readonly Row[]> {
  const { sql, values } = withQuestionMarks(text, params);
  const result = (await knex.raw(sql, values as never[])) as { readonly rows: Row[] };
  return result.rows;
}
