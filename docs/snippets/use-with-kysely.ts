import { type Decided, decide, decideStandalone } from 'comanda';
import { kyselyStandalone, kyselyTransaction } from 'comanda/adapters/kysely';
import type { Kysely } from 'kysely';

interface Database {
  orders: { id: string; status: string };
}

// #region in-transaction
export function refundOrder(db: Kysely<Database>, order: string): Promise<Decided> {
  return db.transaction().execute(async (trx) => {
    await trx.updateTable('orders').set({ status: 'refunded' }).where('id', '=', order).execute();
    return await decide(kyselyTransaction(trx), {
      key: `refund:${order}`,
      subject: `order:${order}`,
      effects: [{ kind: 'issue_refund', payload: { order } }],
    });
  });
}
// #endregion

// #region standalone
export function noteOnly(db: Kysely<Database>, order: string): Promise<Decided> {
  return decideStandalone(kyselyStandalone(db), {
    key: `reminder:${order}`,
    subject: `order:${order}`,
    effects: [{ kind: 'crm_note', payload: { order, text: 'Call back.' } }],
  });
}
// #endregion
