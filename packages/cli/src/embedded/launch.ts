import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { claimDataDir } from './claim.js';
import { type Postmaster, type PostmasterOptions, StartError, startPostmaster } from './process.js';

/** Where every embedded server listens. */
export const HOST = '127.0.0.1';

const ATTEMPTS = 8;

export interface Running {
  readonly postmaster: Postmaster;
  readonly port: number;
}

/** Starts a server, on a free port unless one is wanted, and waits out what passes: a port taken in between, an old server leaving. */
export async function launch(options: Omit<PostmasterOptions, 'port'>, wanted: number | undefined): Promise<Running> {
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort());
    try {
      return { postmaster: await startPostmaster({ ...options, port }), port };
    } catch (error) {
      if (!(error instanceof StartError) || attempt === ATTEMPTS) throw error;
      const passes = (error.failure === 'portTaken' && wanted === undefined) || error.failure === 'oldServerLeaving';
      if (!passes) throw error;
      if (error.failure === 'oldServerLeaving') {
        await delay(250);
        await claimDataDir(options.dataDir, options.binaries);
      }
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, HOST, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
