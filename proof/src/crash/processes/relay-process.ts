/*
 * Relays as a process of its own. Reads JSON lines: `{"start": RelayConfig, "id"}`, `{"stop": id}`; says `{"ready": id}` and `{"stopped": id}`.
 * One that is to be killed runs one relay; those that drain afterwards live long and run one after the other. SIGTERM stops all and ends the process.
 */
import { createInterface } from 'node:readline';
import { pgListener, pgStandalone } from 'comanda/adapters/pg';
import { createRelay } from 'comanda/relay';
import pg from 'pg';
import type { RelayConfig } from './configuration.js';
import { effectsOf } from './effects.js';

const running = new Map<string, () => Promise<void>>();
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const lasting = new Map<string, pg.Pool>();

function poolOf({ database, pool: max, connections }: RelayConfig, id: string): pg.Pool {
  const kept = lasting.get(database);
  if (kept !== undefined) return kept;
  const pool = new pg.Pool({
    connectionString: database,
    max,
    application_name: connections ?? id,
    idleTimeoutMillis: connections === undefined ? 10_000 : 0,
  });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (connections !== undefined) lasting.set(database, pool);
  return pool;
}

async function start(config: RelayConfig, id: string): Promise<void> {
  const pool = poolOf(config, id);
  const listens = config.connections === undefined;
  let heard = (): void => undefined;
  const hears = new Promise<void>((resolve) => {
    heard = resolve;
  });
  const relay = createRelay({
    database: pgStandalone(pool),
    ...(listens ? { listener: pgListener({ connectionString: config.database }) } : {}),
    effects: effectsOf(config),
    aiActions: 'enabled',
    lease: config.leaseMs,
    safetyPoll: 500,
    shutdownGrace: 5_000,
    breaker: { failures: 1_000, openFor: 200, openAtMost: 400 },
    // Ready is who hears decisions: what belongs to the start comes before.
    observer: (event) => {
      if (event.type === 'listen') heard();
    },
  });
  running.set(id, async () => {
    running.delete(id);
    await relay.stop();
    if (listens) await pool.end();
    say({ stopped: id });
  });
  await relay.start();
  if (listens) await hears;
  say({ ready: id });
}

process.on('SIGTERM', () => {
  void Promise.all([...running.values()].map((stop) => stop())).then(() => process.exit(0));
});
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as { readonly start?: RelayConfig; readonly stop?: string; readonly id?: string };
  if (order.start !== undefined)
    void start(order.start, order.id ?? '').catch((error: unknown) => say({ failed: order.id, error: String(error) }));
  else await running.get(order.stop ?? '')?.();
}
process.exit(0);
