// #region all
import { decide, rawJson } from 'comanda';
import { inPgTransaction, pgListener, pgStandalone } from 'comanda/adapters/pg';
import { createRelay } from 'comanda/relay';
import { httpEffect } from 'comanda/transports/http';
import pg from 'pg';

const connectionString = process.env['DATABASE_URL'] ?? '';
const pool = new pg.Pool({ connectionString });
pool.on('error', (error) => console.error(error.message));

// What the target guarantees: a key it has seen is the same refund.
const refund = httpEffect({
  kind: 'issue_refund',
  risk: 'irreversible',
  idempotency: 'key',
  request: { url: `${process.env['PAYMENTS_URL']}/refunds` },
  allowPrivateAddresses: ['127.0.0.1'], // hidden
});

// Decide: your table and the intent commit together, or neither does.
export const refundOrder = (order: string, amount: string) =>
  inPgTransaction(pool, async (tx, client) => {
    await client.query(`update orders set status = 'refunded' where id = $1`, [order]);
    return await decide(tx, {
      key: `refund:${order}`,
      subject: `order:${order}`,
      effects: [refund({ order, amount: rawJson(amount) })],
    });
  });

// Execute: apart, in as many processes as you like.
const relay = createRelay({
  database: pgStandalone(pool),
  listener: pgListener({ connectionString }),
  effects: [refund],
});
await relay.start();
process.once('SIGTERM', () => void relay.stop());

// #endregion

export { pool, relay };
