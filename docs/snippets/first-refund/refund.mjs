import { decide } from 'comanda';
import { inPgTransaction } from 'comanda/adapters/pg';
import pg from 'pg';

const order = process.argv[2] ?? 'ORD-2041';
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

await pool.query(`create table if not exists orders (id text primary key, status text not null)`);
await pool.query(`insert into orders values ($1, 'paid') on conflict do nothing`, [order]);

const decided = await inPgTransaction(pool, async (tx, client) => {
  await client.query(`update orders set status = 'refunded' where id = $1`, [order]);
  return await decide(tx, {
    key: `refund:${order}`,
    subject: `order:${order}`,
    actor: { type: 'human', id: 'ana' },
    reason: 'the parcel came back',
    effects: [{ kind: 'issue_refund', payload: { order, amount: 2154, currency: 'MXN' } }],
  });
});

console.log(decided.created ? `decided: ${decided.key}` : `was decided before: ${decided.key}`);
await pool.end();
