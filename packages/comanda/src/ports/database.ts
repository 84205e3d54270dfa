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
   *
   * @param withinMs how long the answer is waited for, in milliseconds. A pool that can should destroy a connection that has been silent for
   *   longer: it would never come back. Default: as long as the driver waits.
   */
  query<Row>(text: string, params: readonly unknown[], withinMs?: number): Promise<readonly Row[]>;
}

/** A {@link Queryable} that is known to run inside an open transaction of the caller. */
export interface Transaction extends Queryable {
  readonly inTransaction: true;
}

/** Receives wake-up hints. A hint may be lost at any time: polling is the truth. */
export interface Listener {
  /**
   * Starts to listen in the background and returns at once; a database that is away is no error here, it is tried again.
   *
   * @param onHint runs for each notification, and each time the link comes up: what was sent while it was down is not repeated
   * @param onState runs when the link has been proven to work (`true`) and when it is lost or cannot be used (`false`, with the reason),
   *   once per change
   * @returns a handle whose `close` ends everything, also in the middle of connecting; nothing is called afterwards
   */
  listen(channel: string, onHint: () => void, onState: (up: boolean, reason?: string) => void): Promise<ListenHandle>;
}

/** A running {@link Listener}. */
export interface ListenHandle {
  close(): Promise<void>;
}
