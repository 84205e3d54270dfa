import { type Decided, decide, decideStandalone } from 'comanda';
import { postgresStandalone, postgresTransaction } from 'comanda/adapters/postgres';
import type postgres from 'postgres';

// #region in-transaction
export function refundOrder(sql: postgres.Sql, order: string): Promise<Decided> {
  return sql.begin(async (tx) => {
    await tx`update orders set status = 'refunded' where id = ${order}`;
    return await decide(postgresTransaction(tx), {
      key: `refund:${order}`,
      subject: `order:${order}`,
      effects: [{ kind: 'issue_refund', payload: { order } }],
    });
  });
}
// #endregion

// #region standalone
export function noteOnly(sql: postgres.Sql, order: string): Promise<Decided> {
  return decideStandalone(postgresStandalone(sql), {
    key: `reminder:${order}`,
    subject: `order:${order}`,
    effects: [{ kind: 'crm_note', payload: { order, text: 'Call back.' } }],
  });
}
// #endregion
