import { join } from 'node:path';
import { afterThisTest, type EmbeddedServer, startEmbedded, temporaryFolder, withClient } from '@comanda/test-support';
import pg from 'pg';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { migrate } from '../../src/schema/migrate.js';
import type { Ask } from './kit.js';

/** A PostgreSQL of a test's own, with the schema, that can be stopped and comes back on the same port. */
export interface OwnServer {
  readonly url: string;
  readonly port: number;
  /** Asks on a connection of its own, which fails while the server is down. */
  readonly ask: Ask;
  /** A pool whose broken connections never end this process. */
  pool(config?: pg.PoolConfig): pg.Pool;
  /** Whether it has ended, by itself or because it was stopped. */
  readonly down: boolean;
  /** `fast`: ends transactions and connections, writes all down. `immediate`: gone at once, recovers at the next start. Resolves when it is down. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  start(): Promise<void>;
}

export async function ownServer(
  options: { readonly dataDir?: string; readonly settings?: Record<string, string> } = {},
): Promise<OwnServer> {
  const dataDir = options.dataDir ?? join(temporaryFolder('server'), 'data');
  const settings = { max_connections: '60', ...options.settings };
  const launch = (port?: number): Promise<EmbeddedServer> =>
    startEmbedded({ dataDir, settings, durable: false, ...(port === undefined ? {} : { port }) });
  let down = false;
  const watch = (started: EmbeddedServer): EmbeddedServer => {
    down = false;
    void started.exited.then(() => {
      down = true;
    });
    return started;
  };
  let server = watch(await launch());
  afterThisTest(() => server.stop());
  const { url, port } = server;
  await withClient(url, (client) => migrate(pgStandalone(client), { environment: 'production' }));
  return {
    url,
    port,
    ask: (sql, params = []) => withClient(url, async (client) => (await client.query(sql, [...params])).rows),
    pool(config = {}) {
      const pool = new pg.Pool({ connectionString: url, ...config });
      pool.on('error', () => {});
      pool.on('connect', (client) => client.on('error', () => {}));
      afterThisTest(() => pool.end().catch(() => {}));
      return pool;
    },
    get down() {
      return down;
    },
    async stop(how) {
      process.kill(server.pid, how === 'fast' ? 'SIGINT' : 'SIGQUIT');
      await server.exited;
    },
    async start() {
      server = watch(await launch(port));
    },
  };
}
