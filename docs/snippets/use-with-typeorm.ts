import { type Decided, decide, decideStandalone } from 'comanda';
import { typeOrmStandalone, typeOrmTransaction } from 'comanda/adapters/typeorm';
import { type DataSource, EntitySchema } from 'typeorm';

export const Order = new EntitySchema<{ id: string; status: string }>({
  name: 'orders',
  columns: { id: { type: 'text', primary: true }, status: { type: 'text' } },
});

// #region in-transaction
export function refundOrder(source: DataSource, order: string): Promise<Decided> {
  return source.transaction(async (manager) => {
    await manager.update(Order, { id: order }, { status: 'refunded' });
    return await decide(typeOrmTransaction(manager), {
      key: `refund:${order}`,
      subject: `order:${order}`,
      effects: [{ kind: 'issue_refund', payload: { order } }],
    });
  });
}
// #endregion

// #region standalone
export function noteOnly(source: DataSource, order: string): Promise<Decided> {
  return decideStandalone(typeOrmStandalone(source), {
    key: `reminder:${order}`,
    subject: `order:${order}`,
    effects: [{ kind: 'crm_note', payload: { order, text: 'Call back.' } }],
  });
}
// #endregion
