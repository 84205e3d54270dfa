import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { afterThisTest, ifThisTestFails } from './cleanup.js';
import { eventually, withDeadline } from './eventually.js';
import { databaseUrl, identifier, withClient } from './sql-client.js';
import './vitest-context.js';

export interface DatabaseOptions {
  /** Default `true`: with the product's schema, copied from the template. `false`: empty. */
  readonly template?: boolean;
  /** Default `true`: the copy is the real one. `false`: a copy that nobody has adopted. */
  readonly adopted?: boolean;
  /** Superuser URL of the server. Default: the one of the test run. */
  readonly server?: string;
}

/** A database of a test's own. */
export interface TestDatabase {
  readonly url: string;
  /** The same through the pooler, with COMANDA_TEST_POOLER=1; what relays and callers use. */
  readonly pooledUrl: string;
  readonly name: string;
  /** A new connection, closed at `drop`. */
  connect(config?: pg.ClientConfig): Promise<pg.Client>;
  /** A new pool on `pooledUrl`, ended at `drop`. Broken connections never crash the process. */
  pool(max?: number, config?: pg.PoolConfig): pg.Pool;
  /** Ends every connection, this process' and others', and drops the database. Done by itself after a test that created it. */
  drop(): Promise<void>;
}

/** Creates a database that nobody else uses. Its name is printed when the test fails. */
export async function createDatabase(options: DatabaseOptions = {}): Promise<TestDatabase> {
  const server = options.server ?? inject('pgUrl');
  const name = `test_${process.pid}_${randomBytes(5).toString('hex')}`;
  // Copying files takes no WAL: 30 ms, where wal_log takes up to 250 ms until the server has segments to recycle.
  const source = options.template === false ? '' : ` template ${identifier(templateName())} strategy file_copy`;
  await withClient(server, (admin) => admin.query(`create database ${identifier(name)}${source}`));
  const url = databaseUrl(server, name);
  // A copied installation holds until it is adopted. The tests that are about it take the copy as it is.
  if (options.template !== false && options.adopted !== false) await withClient(url, adopt);

  const pooler = inject('pgPooler');
  const pooledUrl = pooler === '' || options.server !== undefined ? url : databaseUrl(pooler, name);
  const clients: pg.Client[] = [];
  const pools: pg.Pool[] = [];
  let dropped: Promise<void> | undefined;
  const database: TestDatabase = {
    url,
    pooledUrl,
    name,
    async connect(config = {}) {
      const client = new pg.Client({ connectionString: url, ...config });
      client.on('error', ignore);
      clients.push(client);
      await client.connect();
      return client;
    },
    pool(max = 10, config = {}) {
      const pool = new pg.Pool({ connectionString: pooledUrl, max, ...config });
      pool.on('error', ignore);
      pool.on('connect', (client) => client.on('error', ignore));
      pools.push(pool);
      return pool;
    },
    drop() {
      dropped ??= dropDatabase(server, name, clients, pools);
      return dropped;
    },
  };
  afterThisTest(database.drop);
  ifThisTestFails(() => console.error(`database of this test: ${url}`));
  return database;
}

async function adopt(client: pg.Client): Promise<void> {
  await client.query(
    'update comanda.installation set database_oid = (select oid from pg_database where datname = current_database())',
  );
}

function templateName(): string {
  const template = inject('pgTemplate');
  if ('name' in template) return template.name;
  throw new Error(`There is no migrated template to copy: ${template.missing}`);
}

async function dropDatabase(server: string, name: string, clients: pg.Client[], pools: pg.Pool[]): Promise<void> {
  const closing = [
    ...clients.map((client) => client.end()),
    ...pools.filter((pool) => !pool.ending).map((pool) => pool.end()),
  ].map((closed) => closed.catch(ignore));
  // A connection that was never given back keeps its pool open; the server ends it below.
  await withDeadline(Promise.all(closing), 250, 'closing').catch(ignore);
  await withClient(server, async (admin) => {
    await dropSlots(admin, name);
    await admin.query(`drop database if exists ${identifier(name)} with (force)`);
  });
}

// A logical slot keeps its database, even against `force`.
async function dropSlots(admin: pg.Client, database: string): Promise<void> {
  await eventually(
    async () => {
      const slots = await admin.query<{ slot_name: string; active_pid: number | null }>(
        'select slot_name, active_pid from pg_replication_slots where database = $1',
        [database],
      );
      for (const { slot_name, active_pid } of slots.rows) {
        if (active_pid !== null) await admin.query('select pg_terminate_backend($1)', [active_pid]);
        else await admin.query('select pg_drop_replication_slot($1)', [slot_name]);
      }
      return slots.rows.length === 0;
    },
    { what: `dropping the replication slots of ${database}` },
  );
}

function ignore(): void {}
