import { type EmbeddedServer, startEmbedded } from '@comanda/cli/embedded';
import pg from 'pg';
import { type Provider, spawnCaller, spawnRelay, startProvider } from '../stage/server.js';
import { createStaff, type Staff } from '../stage/staff.js';
import { createDatabases, type Databases } from './databases.js';

/** Short enough to wait for, long enough that a busy machine does not end a lease in the middle of an ordinary step. */
export const LEASE_MS = 2_000;
export const TIMEOUT_MS = 1_000;

/** What all runs share: a server with a template, the providers, and the processes of relays and applications. */
export interface World {
  readonly server: EmbeddedServer;
  readonly provider: Provider;
  readonly databases: Databases;
  readonly relays: Staff;
  readonly callers: Staff;
  end(): Promise<void>;
}

export async function createWorld(): Promise<World> {
  const server = await startEmbedded({
    ephemeral: true,
    settings: { max_connections: '300', autovacuum: 'off' },
    onExit: ({ code, log }) => process.stderr.write(`The PostgreSQL of this run ended (code ${code}):\n${log}\n`),
  });
  const provider = await startProvider({ late: TIMEOUT_MS + 400, long: LEASE_MS + 1_000 });
  const admin = new pg.Pool({ connectionString: server.url, max: 4 });
  admin.on('error', () => undefined);
  admin.on('connect', (client) => client.on('error', () => undefined));
  const databases = await createDatabases(server.url, admin, spawnRelay);
  const relays = createStaff(spawnRelay);
  const callers = createStaff(spawnCaller);
  return {
    server,
    provider,
    databases,
    relays,
    callers,
    async end() {
      await Promise.all([relays.end(), callers.end(), databases.end()]);
      await provider.child.kill();
      await admin.end();
      await server.stop();
    },
  };
}
