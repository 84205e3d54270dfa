import { type Decided, decide } from 'comanda';
import { inPgTransaction } from 'comanda/adapters/pg';
import type pg from 'pg';

// #region decide
export interface Line {
  readonly sku: string;
  readonly quantity: number;
}

/** One decision, one effect per line; all of them and the order's own row commit together. */
export function takeFromStock(pool: pg.Pool, order: string, lines: readonly Line[]): Promise<Decided> {
  return inPgTransaction(pool, async (tx, client) => {
    await client.query(`update orders set status = 'allocated' where id = $1`, [order]);
    return await decide(tx, {
      key: `allocate:${order}`,
      subject: `order:${order}`,
      effects: lines.map(({ sku, quantity }) => ({
        kind: 'inventory_sync',
        name: `inventory_sync:${sku}`, // several effects of one kind need names
        key: `inventory:${order}:${sku}`, // what the warehouse will recognise
        orderingKey: `sku:${sku}`, // movements of one article, in commit order
        payload: { sku, quantity },
      })),
    });
  });
}
// #endregion
