import { freshDatabase } from '@comanda/test-support';
import type pg from 'pg';

/** What is measured: our door, or what a hand-written outbox does. */
export type DecideForm = 'decide' | 'bare-transaction' | 'bare-statement';

/** Decisions per second of `clients` connections, `total` in all, each with a unique key and one effect. */
export async function decideOnce(serverUrl: string, form: DecideForm, clients: number, total: number): Promise<number> {
  const database = await freshDatabase(serverUrl, 'bench');
  const pool = database.pool(clients);
  await pool.query(`create table bare_state (key text primary key, state text not null, at timestamptz not null default now());
    create table bare_outbox (id bigint generated always as identity primary key, key text not null unique, kind text not null, payload jsonb not null, status text not null default 'pending', created_at timestamptz not null default now())`);
  const connections = await Promise.all(Array.from({ length: clients }, () => pool.connect()));
  await run(connections, form, Math.round(total / 10), 'warm');
  const started = performance.now();
  await run(connections, form, total, 'run');
  const seconds = (performance.now() - started) / 1_000;
  for (const connection of connections) connection.release();
  await check(pool, form, total);
  await database.drop();
  return total / seconds;
}

async function run(
  connections: readonly pg.PoolClient[],
  form: DecideForm,
  total: number,
  prefix: string,
): Promise<void> {
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (next < total) {
        next += 1;
        await one(connection, form, `${prefix}-${next}`);
      }
    }),
  );
}

const PAYLOAD = JSON.stringify({
  amount: 2154,
  currency: 'MXN',
  order: 'ORD-2041',
  customer: 'C-1',
  reason: 'damaged',
});

async function one(connection: pg.PoolClient, form: DecideForm, key: string): Promise<void> {
  if (form === 'decide') {
    await connection.query('select run_id from comanda.decide($1::text::jsonb)', [
      `{"key":"${key}","subject":"order:${key}","actor":{"type":"system","id":"bench"},"effects":[{"kind":"issue_refund","payload":${PAYLOAD}}]}`,
    ]);
  } else if (form === 'bare-statement') {
    await connection.query(
      `with s as (insert into bare_state (key, state) values ($1, 'refunded') returning key) insert into bare_outbox (key, kind, payload) select key, 'issue_refund', $2::text::jsonb from s`,
      [key, PAYLOAD],
    );
  } else {
    await connection.query('begin');
    await connection.query(`insert into bare_state (key, state) values ($1, 'refunded')`, [key]);
    await connection.query(
      `insert into bare_outbox (key, kind, payload) values ($1, 'issue_refund', $2::text::jsonb)`,
      [key, PAYLOAD],
    );
    await connection.query('commit');
  }
}

async function check(pool: pg.Pool, form: DecideForm, total: number): Promise<void> {
  const table = form === 'decide' ? 'comanda.effect' : 'bare_outbox';
  const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  const expected = total + Math.round(total / 10);
  const found = rows[0]?.n ?? 0;
  // Clients that race for the last key may each take one more.
  if (found < expected) throw new Error(`${form}: ${found} rows of ${expected}`);
}
