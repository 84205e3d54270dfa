/*
 * What people write without an outbox, or with one whose call carries no key. One order, then the end of the process; started again after a crash, as a
 * supervisor would.
 */
import pg from 'pg';
import type { NaiveConfig } from '../naive/orders.js';

const { way, database, call } = JSON.parse(process.argv[2] ?? '{}') as NaiveConfig;
const client = new pg.Client({ connectionString: database });
client.on('error', () => undefined);
await client.connect();

async function refund(): Promise<void> {
  const answer = await fetch(call, { method: 'POST', body: '{}' });
  if (!answer.ok) throw new Error(`the provider answered ${answer.status}`);
}

async function rowsOf(sql: string): Promise<number> {
  return (await client.query(sql)).rowCount ?? 0;
}

if (way === 'state, then call') {
  if ((await rowsOf(`update shop.orders set status = 'refunded' where status = 'received'`)) > 0) await refund();
}
if (way === 'call, then state') {
  if ((await rowsOf(`select from shop.orders where status = 'received'`)) > 0) {
    await refund();
    await client.query(`update shop.orders set status = 'refunded'`);
  }
}
if (way === 'outbox, no key') {
  await client.query(
    `with o as (update shop.orders set status = 'refunded' where status = 'received' returning id) insert into shop.outbox select id, 'pending' from o`,
  );
  // What an earlier process left in the middle is taken up again: otherwise it would be lost.
  if ((await rowsOf(`update shop.outbox set status = 'processing' where status <> 'done'`)) > 0) {
    await refund();
    await client.query(`update shop.outbox set status = 'done'`);
  }
}
await client.end();
process.exit(0);
