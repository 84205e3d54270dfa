import { completed, defineEffect } from 'comanda';
import { pgStandalone } from 'comanda/adapters/pg';
import { createRelay } from 'comanda/relay';
import pg from 'pg';
import { report } from './report.js';

const [url = '', countText = '0', perKeyText = '1'] = process.argv.slice(2);
const count = Number(countText);
const perKey = Number(perKeyText);
await report(async () => {
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  pool.on('error', () => undefined);
  // A transaction may touch at most 1000 ordering keys.
  const keys = count / perKey;
  for (let from = 1; from <= keys; from += 1000) {
    await pool.query(
      `select count(*) from generate_series($1::int, least($1::int + 999, $2::int)) g cross join lateral comanda.decide(jsonb_build_object('key', 'k' || g, 'actor', '{"type":"system","id":"bench"}'::jsonb,
         'effects', (select jsonb_agg(jsonb_build_object('kind', 'noop', 'name', 'e' || n, 'orderingKey', 'lane-' || g, 'payload', jsonb_build_object('n', n))) from generate_series(1, $3::int) n)))`,
      [from, keys, perKey],
    );
  }
  await pool.query('vacuum analyze');
  const seen = new Set<string>();
  const noop = defineEffect({
    kind: 'noop',
    idempotency: 'key',
    concurrency: 1_000,
    perform: async (_input, context) => {
      seen.add(context.idempotencyKey);
      return completed();
    },
  });
  const relay = createRelay({ database: pgStandalone(pool), effects: [noop], aiActions: 'enabled' });
  const started = performance.now();
  await relay.start();
  // Until everything has been executed the table is left alone: a watcher would pay for every dead row.
  while (seen.size < count) await new Promise((resolve) => setTimeout(resolve, 5));
  const watcher = await pool.connect();
  for (;;) {
    const { rows } = await watcher.query<{ left: boolean }>(
      'select exists (select from comanda.effect_queue) or exists (select from comanda.effect_arrival) as left',
    );
    if (rows[0]?.left === false) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const seconds = (performance.now() - started) / 1_000;
  watcher.release();
  await relay.stop();
  const { rows } = await pool.query<{ n: number; bad: number }>(
    `select count(*)::int as n, (select count(*)::int from comanda.unattended) as bad from comanda.outcome where state = 'completed'`,
  );
  if (rows[0]?.n !== count || rows[0].bad !== 0 || seen.size !== count)
    throw new Error(`${rows[0]?.n} of ${count} completed, ${seen.size} executed, ${rows[0]?.bad} unattended`);
  await pool.end();
  return count / seconds;
});
