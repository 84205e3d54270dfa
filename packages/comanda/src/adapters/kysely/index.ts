import { comandaError } from '../../kernel/errors.js';
import type { Queryable, Transaction } from '../../ports/database.js';

/** A compiled query as Kysely runs it. */
interface CompiledQuery {
  readonly query: {
    readonly kind: 'RawNode';
    readonly sqlFragments: readonly string[];
    readonly parameters: readonly [];
  };
  readonly queryId: { readonly queryId: string };
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** What we use of a Kysely instance, whatever its tables. */
export interface KyselyLike {
  readonly isTransaction: boolean;
  withoutPlugins(): { executeQuery(query: CompiledQuery): Promise<{ readonly rows: readonly unknown[] }> };
}

/**
 * The caller's open transaction on Kysely: the argument of `db.transaction().execute(async (trx) => …)`, or a controlled transaction. Await each
 * decision inside it: Kysely does not say when a transaction has ended.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION for the root instance and for `db.connection()`
 */
export function kyselyTransaction(trx: KyselyLike): Transaction {
  if (!trx.isTransaction) throw comandaError('COMANDA_NOT_IN_TRANSACTION');
  return { inTransaction: true, query: (text, params) => rows(trx, text, params) };
}

/** A handle on which each statement commits by itself, for stand-alone decisions and for reading. */
export function kyselyStandalone(db: KyselyLike): Queryable {
  return { query: (text, params) => rows(db, text, params) };
}

async function rows<Row>(db: KyselyLike, sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
  // Plugins would rename our columns.
  const result = await db.withoutPlugins().executeQuery({
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
    queryId: { queryId: 'comanda' },
    sql,
    parameters,
  });
  return result.rows as readonly Row[];
}
