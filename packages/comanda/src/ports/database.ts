/**
 * The database port: one method, rows in, rows out.
 *
 * Everything Comanda asks of a database client. Adapters for pg, postgres.js and the ORMs are structural and a few lines
 * each, so that no driver is a dependency of the library.
 */
export interface Queryable {
  /**
   * Runs one statement with `$1 … $n` parameters and returns its rows.
   * Rejects with the driver's own error (its `code` is the SQLSTATE).
   */
  query<Row>(text: string, params: readonly unknown[]): Promise<readonly Row[]>;
}

/** A {@link Queryable} that is known to run inside an open transaction of the caller. */
export interface Transaction extends Queryable {
  readonly inTransaction: true;
}

/** Receives wake-up hints. A hint may be lost at any time: polling is the truth. */
export interface Listener {
  /** Resolves once the subscription is active. `onHint` runs for each notification, `onState` when the link comes up or goes down. */
  listen(channel: string, onHint: () => void, onState: (up: boolean, reason?: string) => void): Promise<{ close(): Promise<void> }>;
}
