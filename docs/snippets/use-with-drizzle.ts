import { type Decided, decide, decideStandalone } from 'comanda';
import { drizzleStandalone, drizzleTransaction } from 'comanda/adapters/drizzle';
import { eq } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';

const orders = pgTable('orders', { id: text().primaryKey(), status: text().notNull() });

// #region in-transaction
export function refundOrder(db: NodePgDatabase, order: string): Promise<Decided> {
  return db.transaction(async (tx) => {
    await tx.update(orders).set({ status: 'refunded' }).where(eq(orders.id, order));
    return await decide(drizzleTransaction(tx), {
      key: `refund:${order}`,
      subject: `order:${order}`,
      effects: [{ kind: 'issue_refund', payload: { order } }],
    });
  });
}
// #endregion

// #region standalone
export function noteOnly(db: NodePgDatabase, order: string): Promise<Decided> {
  return decideStandalone(drizzleStandalone(db), {
    key: `reminder:${order}`,
    subject: `order:${order}`,
    effects: [{ kind: 'crm_note', payload: { order, text: 'Call back.' } }],
  });
}
// #endregion
