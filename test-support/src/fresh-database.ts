import { pgStandalone } from 'comanda/adapters/pg';
import { migrate } from 'comanda/internal';
import pg from 'pg';

/** A database of one run's own, with the schema: for programs; tests have `createDatabase`. */
export interface FreshDatabase {
  readonly url: string;
  readonly name: string;
  /** A new pool, ended by `drop`. A connection that breaks while nobody uses it is no crash. */
  pool(max: number): pg.Pool;
  /** Ends the pools and leaves it there. */
  close(): Promise<void>;
  /** Ends all its connections, also those of other processes, and removes it. */
  drop(): Promise<void>;
}

let count = 0;

/** Creates an empty database on the server and installs the schema. `label` is part of its name. */
export async function freshDatabase(serverUrl: string, label: string): Promise<FreshDatabase> {
  count += 1;
  const name = `${label}_${process.pid}_${count}`;
  await onServer(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const pools: pg.Pool[] = [];
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await migrate(pgStandalone(client), { environment: 'test' });
  await client.end();
  const close = async (): Promise<void> => {
    await Promise.all(pools.splice(0).map((pool) => pool.end()));
  };
  return {
    url: url.href,
    name,
    pool: (max) => {
      const pool = new pg.Pool({ connectionString: url.href, max });
      pool.on('error', () => undefined);
      pools.push(pool);
      return pool;
    },
    close,
    drop: async () => {
      await close();
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
