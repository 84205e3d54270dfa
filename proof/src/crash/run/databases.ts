import { setTimeout as delay } from 'node:timers/promises';
import { type Child, freshDatabase } from '@comanda/test-support';
import pg from 'pg';

/** A database of one run's own. It is made empty again and used by later runs: a new one costs as much as a run. */
export interface RunDatabase {
  readonly url: string;
  /** For those who look on and judge. It stays: a new connection has everything to plan again. */
  readonly pool: pg.Pool;
  /** Runs the relay that goes on after a kill. It stays, with its connections. */
  readonly rescuer: Child;
  /** Ends every other connection, and gives it back as it was. */
  release(): Promise<void>;
  /** After a run that broke off nobody knows what still works on it: it is not used again. */
  discard(): Promise<void>;
}

export interface Databases {
  take(): Promise<RunDatabase>;
  end(): Promise<void>;
}

/** The name of connections that outlive a run: those of the rescuer and of the judges. */
export const LASTING = 'proof';

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

export async function createDatabases(
  serverUrl: string,
  admin: pg.Pool,
  spawnRescuer: () => Child,
): Promise<Databases> {
  const template = await freshDatabase(serverUrl, 'crash');
  await template.pool(1).query(PREPARE);
  await template.close();
  await admin.query(`alter database ${template.name} with allow_connections false`);
  const all: RunDatabase[] = [];
  const free: RunDatabase[] = [];

  let count = 0;
  const create = async (): Promise<RunDatabase> => {
    count += 1;
    const name = `crash_run_${process.pid}_${count}`;
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    const pool = new pg.Pool({ connectionString: url.href, max: 3, application_name: LASTING, idleTimeoutMillis: 0 });
    pool.on('error', () => undefined);
    pool.on('connect', (client) => client.on('error', () => undefined));
    const database: RunDatabase = {
      url: url.href,
      pool,
      rescuer: spawnRescuer(),
      async release() {
        await endConnections(admin, name);
        await pool.query('call kept.reset()');
        free.push(database);
      },
      discard: async () => void (await database.rescuer.kill()),
    };
    all.push(database);
    await admin.query(`create database ${name} template ${template.name}`);
    await pool.query('call kept.reset()');
    return database;
  };
  return {
    take: async () => free.pop() ?? (await create()),
    end: async () =>
      void (await Promise.all(all.flatMap(({ pool, rescuer }): Promise<unknown>[] => [pool.end(), rescuer.kill()]))),
  };
}

/** What a killed process had asked for may still be at work. */
async function endConnections(admin: pg.Pool, name: string): Promise<void> {
  for (;;) {
    const { rows } = await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name <> $2',
      [name, LASTING],
    );
    if (rows.length === 0) return;
    await delay(5);
  }
}
