/*
 * A relay of the soak. It says how much memory it has, and lives as long as it is let.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pgListener, pgStandalone } from 'comanda/adapters/pg';
import { createRelay, type Relay } from 'comanda/relay';
import pg from 'pg';
import { endWithStarter, onCommand, say, settings } from './child-manners.js';
import { LEASE_MS, type ProviderUrls, soakEffects } from './effects.js';

export interface RelaySettings {
  readonly name: string;
  /** For statements; perhaps through a pooler. */
  readonly url: string;
  /** For LISTEN; never through a pooler. */
  readonly listenUrl: string;
  readonly providers: ProviderUrls;
  /** How often it says how much memory it has. */
  readonly memoryEveryMs: number;
}

const { name, url, listenUrl, providers, memoryEveryMs } = settings<RelaySettings>();
const pool = new pg.Pool({ connectionString: url, max: 5, application_name: name, statement_timeout: 5_000 });
pool.on('error', () => undefined); // an idle connection broke; the pool makes a new one

const make = (): Relay =>
  createRelay({
    database: pgStandalone(pool),
    listener: pgListener({ connectionString: listenUrl }),
    effects: soakEffects(providers, name),
    targets: { payments: { ratePerSecond: 200, concurrency: 24 } },
    aiActions: 'enabled',
    lease: LEASE_MS,
    safetyPoll: 500,
    shutdownGrace: 3_000,
  });

let relay: Relay | undefined;
let ending = false;

async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  await relay?.stop();
  await pool.end();
  process.exit(0);
}

/** What is left in the heap after a full collection: what this process cannot give back. */
function keptBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}

endWithStarter();
process.on('SIGTERM', () => void end());
onCommand((command) => {
  if (command === 'kept') say({ kept: keptBytes() });
});
// A server that is away right now is no reason to end: a start is tried again, with a new relay.
while (relay === undefined && !ending) {
  const next = make();
  try {
    await next.start();
    relay = next;
  } catch (error) {
    say({ notStarted: error instanceof Error ? error.message : String(error) });
    await next.stop().catch(() => undefined);
    await delay(300);
  }
}
say({ ready: true, relay: relay?.id });
setInterval(() => say({ rss: process.memoryUsage.rss(), t: Date.now() }), memoryEveryMs).unref();
