import { join } from 'node:path';
import {
  freshDatabase,
  type Pgbouncer,
  type ProviderHandle,
  startGateway,
  startMail,
  startPgbouncer,
  startTcpProxy,
  type TcpProxy,
  temporaryFolder,
} from '@comanda/test-support';
import type { Control } from '@comanda/test-support/providers';
import type pg from 'pg';
import type { Random } from '../random.js';
import { CALLER_SCHEMA } from './acts.js';
import { type ProviderUrls, SLOWEST_MS } from './effects.js';
import type { ProducerSettings } from './producer-process.js';
import type { RelaySettings } from './relay-process.js';
import { type RestartableServer, startServer } from './server.js';
import { type Supervised, supervise } from './supervised.js';

/** Everything that runs during a soak. */
export interface Stage {
  readonly server: RestartableServer;
  /** Of the judge: straight to the server. */
  readonly pool: pg.Pool;
  readonly providers: Readonly<Record<keyof ProviderUrls, ProviderHandle>>;
  /** Between each relay, and all callers, and the server. */
  readonly wires: Readonly<Record<string, TcpProxy>>;
  /** Lives through the whole run; its memory is measured. */
  readonly elder: Supervised;
  /** The relays that may be killed. */
  readonly mortals: readonly Supervised[];
  readonly producers: readonly Supervised[];
  readonly diaries: readonly string[];
  stop(): Promise<void>;
}

export interface StageOptions {
  readonly seed: number;
  readonly random: Random;
  readonly rate: number;
  readonly pooler: boolean;
  readonly memoryEveryMs: number;
  readonly onCrash: (why: string) => void;
  /** Nothing is started any more. */
  readonly signal: AbortSignal;
}

/** What goes wrong all the time: probabilities per request. */
const TROUBLE: Readonly<Record<keyof ProviderUrls, Control['rates']>> = {
  payments: { error500: 0.03, tooMany: 0.004, conflict: 0.02, dropBefore: 0.02, slow: 0.01, acceptDrop: 0.04 },
  warehouse: { error500: 0.02, dropBefore: 0.01, slow: 0.004, acceptDrop: 0.02 },
  mail: { error500: 0.02, dropBefore: 0.02, slow: 0.01, acceptDrop: 0.03 },
  post: { dropBefore: 0.01, slow: 0.004, acceptDrop: 0.01 },
};
const RELAYS = ['elder', 'mortal-1', 'mortal-2'];
const PRODUCERS = ['caller-1', 'caller-2'];

export async function setStage(options: StageOptions): Promise<Stage> {
  const { seed, random, signal, onCrash } = options;
  const server = await startServer(random, (log) => onCrash(`PostgreSQL ended by itself:\n${log}`));
  const database = await freshDatabase(server.url, 'soak');
  const pool = database.pool(4);
  await pool.query(CALLER_SCHEMA);
  const providers = await startProviders(seed);
  const pooler = options.pooler ? await frontOf(server) : undefined;
  const wires = Object.fromEntries(
    await Promise.all([...RELAYS, 'callers'].map(async (name) => [name, await wireTo(pooler?.port ?? server.port)])),
  ) as Record<string, TcpProxy>;
  const through = (name: string): string => wires[name]?.through(database.url) ?? database.url;

  const relays = RELAYS.map((name) =>
    supervise({
      name,
      file: new URL('./relay-process.js', import.meta.url),
      settings: (): RelaySettings => ({
        name,
        url: through(name),
        listenUrl: pooler === undefined ? through(name) : database.url,
        providers: urlsOf(providers),
        memoryEveryMs: options.memoryEveryMs,
      }),
      onCrash,
      signal,
    }),
  );
  const folder = temporaryFolder('soak-diaries');
  const diaries: string[] = [];
  const producers = PRODUCERS.map((name, i) =>
    supervise({
      name,
      file: new URL('./producer-process.js', import.meta.url),
      settings: (start): ProducerSettings => {
        const diary = join(folder, `${name}-${start}.jsonl`);
        diaries.push(diary);
        return {
          name: `${name}-${start}`,
          url: through('callers'),
          diary,
          seed: seed + 1_000 * (i + 1) + start,
          rate: options.rate / PRODUCERS.length,
        };
      },
      onCrash,
      signal,
    }),
  );
  const [elder, ...mortals] = relays;
  if (elder === undefined) throw new Error('there is no relay');
  return {
    server,
    pool,
    providers,
    wires,
    elder,
    mortals,
    producers,
    diaries,
    async stop() {
      await Promise.all([...relays, ...producers].map((part) => part.stop()));
      await Promise.all(Object.values(providers).map((provider) => provider.kill()));
      await Promise.all(Object.values(wires).map((wire) => wire.close()));
      await pooler?.stop();
      await pool.end().catch(() => undefined);
      await server.stop();
    },
  };
}

async function startProviders(seed: number): Promise<Stage['providers']> {
  const options = (name: keyof ProviderUrls, i: number) => ({
    seed: seed + i,
    control: { rates: TROUBLE[name] ?? {}, slowMs: SLOWEST_MS },
  });
  const [payments, warehouse, mail, post] = await Promise.all([
    startGateway(options('payments', 1)),
    startGateway(options('warehouse', 2)),
    startMail(options('mail', 3)),
    startMail(options('post', 4)),
  ]);
  return { payments, warehouse, mail, post };
}

export function urlsOf({ payments, warehouse, mail, post }: Stage['providers']): ProviderUrls {
  return { payments: payments.url, warehouse: warehouse.url, mail: mail.url, post: post.url };
}

function wireTo(port: number): Promise<TcpProxy> {
  return startTcpProxy({ port });
}

function frontOf({ url }: RestartableServer): Promise<Pgbouncer> {
  return startPgbouncer({ url, poolSize: 12, ignoreParameters: ['statement_timeout'] });
}
