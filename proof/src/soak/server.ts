import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type EmbeddedServer, startEmbedded } from '@comanda/cli/embedded';
import { temporaryFolder } from '@comanda/test-support';
import type { Random } from '../random.js';

/** A PostgreSQL that is stopped and comes back at the same place with the same data. */
export interface RestartableServer {
  readonly url: string;
  readonly port: number;
  readonly version: string;
  /** Whether it is there now. */
  readonly up: boolean;
  /** Ends it, in order (`fast`) or as in a crash (`immediate`), and starts it again after `downMs`. */
  restart(how: 'fast' | 'immediate', downMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** @param onLost called when it ends and nobody asked for it */
export async function startServer(random: Random, onLost: (log: string) => void): Promise<RestartableServer> {
  const dataDir = join(temporaryFolder('soak-postgres'), 'data');
  let planned = false;
  const start = (port: number): Promise<EmbeddedServer> =>
    startEmbedded({
      dataDir,
      port,
      // Killing the server loses no commit without it; only a crash of the machine would.
      durable: false,
      settings: { max_connections: '120', shared_buffers: '64MB', max_wal_size: '512MB' },
      onExit: ({ log }) => {
        if (!planned) onLost(log);
      },
    });
  let server = await anywhere(random, start);
  let up = true;
  const ended = async (how: 'fast' | 'immediate'): Promise<void> => {
    planned = true;
    up = false;
    if (how === 'immediate') process.kill(server.pid, 'SIGQUIT');
    else await server.stop();
    await server.exited;
  };
  return {
    url: server.url,
    port: server.port,
    version: server.version,
    get up() {
      return up;
    },
    async restart(how, downMs) {
      await ended(how);
      await delay(downMs);
      server = await again(() => start(server.port));
      planned = false;
      up = true;
    },
    async stop() {
      planned = true;
      up = false;
      await server.stop();
    },
  };
}

/** Below the range from which the system takes ports for outgoing connections: nobody else gets it while the server is away. */
async function anywhere(random: Random, start: (port: number) => Promise<EmbeddedServer>): Promise<EmbeddedServer> {
  return await again(() => start(20_000 + Math.floor(random() * 10_000)));
}

async function again(start: () => Promise<EmbeddedServer>): Promise<EmbeddedServer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (attempt === 5) throw error;
      await delay(500);
    }
  }
}
