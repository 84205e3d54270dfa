import { pgStandalone } from 'comanda/adapters/pg';
import { migrate } from 'comanda/internal';
import pg from 'pg';

let count = 0;

/** A fresh database on the server, with the schema; dropped by `drop`. */
export async function freshDatabase(
  serverUrl: string,
): Promise<{ url: string; pool(max: number): pg.Pool; drop(): Promise<void> }> {
  count += 1;
  const name = `bench_${process.pid}_${count}`;
  await onServer(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const pools: pg.Pool[] = [];
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await migrate(pgStandalone(client));
  await client.end();
  return {
    url: url.href,
    pool: (max) => {
      const pool = new pg.Pool({ connectionString: url.href, max });
      pool.on('error', () => undefined);
      pools.push(pool);
      return pool;
    },
    drop: async () => {
      await Promise.all(pools.map((pool) => pool.end()));
      await onServer(serverUrl, `drop database ${name} with (force)`);
    },
  };
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}
