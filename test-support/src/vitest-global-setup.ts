import { type EmbeddedServer, type MajorVersion, startEmbedded } from '@comanda/cli/embedded';
import type { TestProject } from 'vitest/node';
import { type Pgbouncer, startPgbouncer } from './pgbouncer.js';
import { identifier, withClient } from './sql-client.js';
import { createTemplate } from './template.js';
import './vitest-context.js';

/**
 * One PostgreSQL for the whole run: the server that COMANDA_TEST_DATABASE_URL names (superuser), or an embedded one, version
 * 18, or another one with COMANDA_TEST_PG=15 (16 and 17: `npm run matrix`, which installs them). With COMANDA_TEST_POOLER=1 pools go through a PgBouncer in transaction mode. It is gone when the run ends, however it ends.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const external = process.env['COMANDA_TEST_DATABASE_URL'];
  const server = external ? undefined : await startServer();
  const url = external ?? server?.url ?? '';
  // Two runs may share a server that was named.
  const template = server ? 'comanda_template' : `comanda_template_${process.pid}`;
  project.provide('pgUrl', url);
  project.provide('pgTemplate', await createTemplate(url, template));
  const pooler = process.env['COMANDA_TEST_POOLER'] === '1' ? await startPooler(url) : undefined;
  project.provide('pgPooler', pooler?.url ?? '');
  return async () => {
    await pooler?.stop();
    if (server) await server.stop();
    else await withClient(url, (admin) => admin.query(`drop database if exists ${identifier(template)} with (force)`));
  };
}

/** In front of the pools of relays and callers, in transaction mode: the switch of the pooler leg. */
function startPooler(url: string): Promise<Pgbouncer> {
  return startPgbouncer({ url, poolSize: 12, ignoreParameters: ['statement_timeout'] });
}

function startServer(): Promise<EmbeddedServer> {
  return startEmbedded({
    ephemeral: true,
    version: wantedVersion(),
    settings: {
      max_connections: '200',
      max_replication_slots: '20',
      max_wal_senders: '20',
    },
    onExit: ({ code, log }) => console.error(`The PostgreSQL of this test run ended (code ${code}):\n${log}`),
  });
}

const VERSIONS: readonly MajorVersion[] = ['15', '16', '17', '18'];

function wantedVersion(): MajorVersion {
  const wanted = process.env['COMANDA_TEST_PG'] ?? '18';
  const version = VERSIONS.find((known) => known === wanted);
  if (version !== undefined) return version;
  throw new Error(`COMANDA_TEST_PG is "${wanted}"; the versions that can be started are ${VERSIONS.join(', ')}.`);
}
