import { type Decided, type Decision, decide, rawJson } from 'comanda';
import { inPgTransaction } from 'comanda/adapters/pg';
import type { Pool } from 'pg';
import type { Order } from './orders.js';

/**
 * Takes an order back: the shop's own rows, the decision and everything it has to have done elsewhere, in ONE transaction.
 * There is no moment at which one exists without the other. The same order again, also at the same moment, changes nothing.
 */
export function takeBack(pool: Pool, order: Order): Promise<Decided> {
  return inPgTransaction(pool, async (tx, client) => {
    await client.query(
      `insert into shop.orders (id, customer, email, total, currency) values ($1, $2, $3, $4, $5) on conflict (id) do nothing`,
      [order.id, order.customer, order.email, order.total, order.currency],
    );
    const decided = await decide(tx, refundOf(order));
    if (!decided.created) return decided;
    await client.query(`update shop.orders set status = 'refunded', version = version + 1 where id = $1`, [order.id]);
    // Always in the same order, so that two orders never wait for each other in a circle.
    for (const { sku, quantity } of bySku(order)) {
      await client.query(
        `with moved as (update shop.stock set on_hand = on_hand + $2, moves = moves + 1 where sku = $1 returning moves)
         insert into shop.stock_move (sku, n, order_id, quantity) select $1, moves, $3, $2 from moved`,
        [sku, quantity, order.id],
      );
    }
    return decided;
  });
}

/** What is decided: the refund, one stock movement per line, a note, a mail. Keys are what the targets recognise. */
function refundOf(order: Order): Decision {
  const { id, customer, email, total, currency } = order;
  return {
    key: `refund:${id}`,
    subject: `order:${id}`,
    kind: 'refund',
    actor: { type: 'system', id: 'order-triage' },
    trigger: 'webhook:orders',
    effects: [
      // rawJson: 2154.00 stays 2154.00 all the way to the gateway.
      { kind: 'issue_refund', key: `refund:${id}`, payload: { order: id, amount: rawJson(total), currency } },
      ...bySku(order).map(({ sku, quantity }) => ({
        kind: 'inventory_sync',
        name: `inventory_sync:${sku}`,
        key: `inventory:${id}:${sku}`,
        orderingKey: `sku:${sku}`, // movements of one article arrive in the order of their commits
        payload: { order: id, sku, quantity },
      })),
      {
        kind: 'crm_note',
        key: `note:${id}`,
        payload: { order: id, text: `Refunded ${total} ${currency} to ${customer}.` },
      },
      {
        kind: 'refund_mail',
        key: `mail:${id}`,
        payload: { reference: `mail:${id}`, to: email, subject: `Your refund for ${id}` },
      },
    ],
  };
}

function bySku({ lines }: Order): Order['lines'] {
  return [...lines].sort((a, b) => (a.sku < b.sku ? -1 : 1));
}
