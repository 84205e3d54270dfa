import { comandaError } from '../../kernel/errors.js';
import type { Queryable, Transaction } from '../../ports/database.js';

/** What we use of an EntityManager or a DataSource. */
export interface TypeOrmLike {
  query(text: string, parameters: unknown[]): Promise<unknown>;
}

/** What we use of an EntityManager that may be in a transaction. */
export interface EntityManagerLike extends TypeOrmLike {
  readonly queryRunner?: { readonly isTransactionActive: boolean } | undefined;
}

/**
 * The caller's open transaction on TypeORM: the argument of `dataSource.transaction(async (manager) => …)`, or the `manager` of a QueryRunner after
 * `startTransaction()`.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION when a statement is run and no transaction is open: `dataSource.manager`, a manager after its
 *   transaction has ended
 */
export function typeOrmTransaction(manager: EntityManagerLike): Transaction {
  return {
    inTransaction: true,
    query: async (text, params) => {
      if (manager.queryRunner?.isTransactionActive !== true) throw comandaError('COMANDA_NOT_IN_TRANSACTION');
      return await rows(manager, text, params);
    },
  };
}

/** A handle on which each statement commits by itself, for stand-alone decisions and for reading: a DataSource or its manager. */
export function typeOrmStandalone(source: TypeOrmLike): Queryable {
  return { query: (text, params) => rows(source, text, params) };
}

async function rows<Row>(source: TypeOrmLike, text: string, params: readonly unknown[]): Promise<readonly Row[]> {
  return (await source.query(text, [...params])) as readonly Row[];
}
