import { type EntityManager, EntitySchema } from '@mikro-orm/postgresql';
import { type Decided, decide, decideStandalone } from 'comanda';
import { mikroOrmStandalone, mikroOrmTransaction } from 'comanda/adapters/mikro-orm';

export const Order = new EntitySchema<{ id: string; status: string }>({
  name: 'Order',
  tableName: 'orders',
  properties: { id: { type: 'text', primary: true }, status: { type: 'text' } },
});

// #region in-transaction
export function refundOrder(em: EntityManager, order: string): Promise<Decided> {
  return em.fork().transactional(async (tx) => {
    const found = await tx.findOneOrFail(Order, order);
    found.status = 'refunded'; // written by the flush at the commit
    return await decide(mikroOrmTransaction(tx), {
      key: `refund:${order}`,
      subject: `order:${order}`,
      effects: [{ kind: 'issue_refund', payload: { order } }],
    });
  });
}
// #endregion

// #region standalone
export function noteOnly(em: EntityManager, order: string): Promise<Decided> {
  return decideStandalone(mikroOrmStandalone(em), {
    key: `reminder:${order}`,
    subject: `order:${order}`,
    effects: [{ kind: 'crm_note', payload: { order, text: 'Call back.' } }],
  });
}
// #endregion
