import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freshDatabase } from '../../database.js';

/** A database of one run's own. It is made empty again and used by later runs: a new one costs as much as a run. */
export interface RunDatabase {
  readonly url: string;
  /** Ends every connection, and gives it back as it was. */
  release(): Promise<void>;
}

export interface Databases {
  take(): Promise<RunDatabase>;
}

/*
 * What the tables hold right after the installation is kept beside them; `reset` empties every table of the product and of the shop and puts it back.
 * Sequences go on: fences and positions never repeat.
 */
const PREPARE = `
create schema shop;
create table shop.orders (id text primary key, status text not null);
create table shop.outbox (id text primary key, status text not null);
create schema kept;
do $do$ declare t record; begin
  for t in select c.relname as name from pg_class c where c.relnamespace = 'comanda'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition loop
    execute format('create table kept.%I as table comanda.%I', t.name, t.name);
  end loop;
end $do$;
create procedure kept.reset() language plpgsql as $fn$ declare t record; begin
  perform set_config('session_replication_role', 'replica', true);
  delete from shop.orders; delete from shop.outbox;
  for t in select c.relname as name from pg_class c where c.relnamespace = 'kept'::regnamespace and c.relkind = 'r' loop
    execute format('delete from comanda.%I', t.name);
    execute format('insert into comanda.%I overriding system value table kept.%I', t.name, t.name);
  end loop;
  perform comanda.adopt('{"by": "proof", "reason": "a copy of its own"}');
end $fn$;
`;

export async function createDatabases(serverUrl: string, admin: pg.Pool): Promise<Databases> {
  const template = await freshDatabase(serverUrl, 'crash');
  await template.pool(1).query(PREPARE);
  await template.close();
  await admin.query(`alter database ${template.name} with allow_connections false`);
  const free: string[] = [];
  let count = 0;

  const create = async (): Promise<string> => {
    count += 1;
    const name = `crash_${process.pid}_${count}`;
    await admin.query(`create database ${name} template ${template.name}`);
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    await reset(url.href);
    return url.href;
  };
  return {
    async take() {
      const url = free.pop() ?? (await create());
      return {
        url,
        async release() {
          await endConnections(admin, new URL(url).pathname.slice(1));
          await reset(url);
          free.push(url);
        },
      };
    },
  };
}

async function reset(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined); // the statement fails with it
  await client.connect();
  try {
    await client.query('call kept.reset()');
  } finally {
    await client.end();
  }
}

/** What a killed process had asked for may still be at work. */
async function endConnections(admin: pg.Pool, name: string): Promise<void> {
  for (;;) {
    const { rows } = await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      name,
    ]);
    if (rows.length === 0) return;
    await delay(5);
  }
}
