import { comandaError } from '../../kernel/errors.js';
import { withQuestionMarks } from '../../kernel/question-marks.js';
import type { Queryable, Transaction } from '../../ports/database.js';

/** What we use of a connection of MikroORM. */
interface ConnectionLike {
  execute(sql: string, params: unknown[], method: 'all', transaction?: never): Promise<unknown>;
}

/** What we use of an EntityManager on PostgreSQL. */
export interface MikroOrmLike {
  isInTransaction(): boolean;
  getTransactionContext(): unknown;
  getConnection(): ConnectionLike;
}

/**
 * The caller's open transaction on MikroORM: the argument of `em.transactional(async (em) => …)`, or an EntityManager after `em.begin()`. What the unit
 * of work has not flushed is written at its commit, in the same transaction.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION when a statement is run and no transaction is open
 */
export function mikroOrmTransaction(em: MikroOrmLike): Transaction {
  return {
    inTransaction: true,
    query: async (text, params) => {
      if (!em.isInTransaction()) throw comandaError('COMANDA_NOT_IN_TRANSACTION');
      return await rows(em, text, params);
    },
  };
}

/** A handle on which each statement commits by itself, for stand-alone decisions and for reading. */
export function mikroOrmStandalone(em: MikroOrmLike): Queryable {
  return { query: (text, params) => rows(em, text, params) };
}

async function rows<Row>(em: MikroOrmLike, text: string, params: readonly unknown[]): Promise<readonly Row[]> {
  const { sql, values } = withQuestionMarks(text, params);
  const context = em.isInTransaction() ? em.getTransactionContext() : undefined;
  return (await em.getConnection().execute(sql, values, 'all', context as never)) as readonly Row[];
}
