import { createRequire } from 'node:module';
import pg from 'pg';
import { report } from './report.js';

/** What we use of graphile-worker: it is installed apart, so its types are not at hand. */
interface Graphile {
  runMigrations(options: { connectionString: string }): Promise<void>;
  run(options: Record<string, unknown>): Promise<{ stop(): Promise<void> }>;
}

/** Installed apart, in bench/peers. */
const PEER = 'graphile-worker';

const [url = '', countText = '0'] = process.argv.slice(2);
const count = Number(countText);
await report(async () => {
  const require = createRequire(new URL('../../peers/package.json', import.meta.url));
  const graphile = require(PEER) as Graphile;
  await graphile.runMigrations({ connectionString: url });
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => undefined);
  for (let from = 1; from <= count; from += 5000) {
    await pool.query(
      `select count(*) from graphile_worker.add_jobs(array(select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'noop', 'payload', json_build_object('n', g))) from generate_series($1::int, least($1::int + 4999, $2::int)) g))`,
      [from, count],
    );
  }
  await pool.query('vacuum analyze');
  let calls = 0;
  const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };
  const started = performance.now();
  const runner = await graphile.run({
    connectionString: url,
    noHandleSignals: true,
    logger: new (require(PEER) as { Logger: new (factory: unknown) => unknown }).Logger(
      () => (level: keyof typeof quiet) => quiet[level]?.(),
    ),
    taskList: {
      noop: () => {
        calls += 1;
      },
    },
    preset: {
      worker: {
        concurrentJobs: 24,
        maxPoolSize: 10,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
  while (calls < count) await new Promise((resolve) => setTimeout(resolve, 5));
  for (;;) {
    const { rows } = await pool.query<{ left: boolean }>(
      'select exists (select from graphile_worker._private_jobs) as left',
    );
    if (rows[0]?.left === false) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const seconds = (performance.now() - started) / 1_000;
  await runner.stop();
  await pool.end();
  if (calls !== count) throw new Error(`${calls} calls of ${count} jobs`);
  return count / seconds;
});
