import { type Decided, decide, decideStandalone } from 'comanda';
import { knexStandalone, knexTransaction } from 'comanda/adapters/knex';
import type { Knex } from 'knex';

// #region in-transaction
export function refundOrder(knex: Knex, order: string): Promise<Decided> {
  return knex.transaction(async (trx) => {
    await trx('orders').where({ id: order }).update({ status: 'refunded' });
    return await decide(knexTransaction(trx), {
      key: `refund:${order}`,
      subject: `order:${order}`,
      effects: [{ kind: 'issue_refund', payload: { order } }],
    });
  });
}
// #endregion

// #region standalone
export function noteOnly(knex: Knex, order: string): Promise<Decided> {
  return decideStandalone(knexStandalone(knex), {
    key: `reminder:${order}`,
    subject: `order:${order}`,
    effects: [{ kind: 'crm_note', payload: { order, text: 'Call back.' } }],
  });
}
// #endregion
