import { join } from 'node:path';
import pg from 'pg';
import { type DemoDatabase, freshDatabase, install } from './database.js';
import { type Provider, startProviders } from './providers.js';
import { type Supervised, supervise } from './supervisor.js';

/** Everything that runs. */
export interface Stage {
  readonly database: DemoDatabase;
  readonly pool: pg.Pool;
  readonly providers: readonly Provider[];
  readonly relays: readonly Supervised[];
  readonly triage: Supervised;
  /** What ended without having been killed: bugs. */
  readonly crashes: readonly string[];
  stopRelays(): Promise<void>;
}

export interface StageOptions {
  readonly folder: string;
  readonly databaseUrl: string | undefined;
  readonly seed: number;
  readonly say: (what: string) => void;
  /** Called with what has to be undone, in the order of its making. */
  readonly onClose: (close: () => Promise<void>) => void;
  /** Without this the demo cannot go on. */
  readonly onLost: (why: string) => void;
}

/** Builds it: database, providers, then the shop's processes. */
export async function buildStage({ folder, databaseUrl, seed, say, onClose, onLost }: StageOptions): Promise<Stage> {
  say('a fresh PostgreSQL');
  const starting = startProviders(folder, seed);
  starting.then(
    (started) =>
      onClose(async () => {
        for (const { part } of started) part.kill('SIGKILL');
      }),
    () => undefined, // awaited below
  );
  const database = await freshDatabase(databaseUrl, onLost);
  onClose(database.close);
  say('comanda migrate, and the tables of the shop');
  await install(database.url);
  const pool = new pg.Pool({ connectionString: database.url, max: 4 });
  pool.on('error', () => undefined); // an idle connection broke; the next query says so
  onClose(() => pool.end());

  say('four providers, two relays, order-triage');
  const providers = await starting;
  const crashes: string[] = [];
  const urls = Object.fromEntries(providers.map(({ target, url }) => [target, url]));
  const shop = async (name: string, file: string): Promise<Supervised> => {
    const env = { DATABASE_URL: database.url, PROVIDERS: JSON.stringify(urls), NAME: name, PORT: '0' };
    const spec = { name, file: new URL(`../shop/${file}.js`, import.meta.url), env, log: join(folder, `${name}.log`) };
    const part = await supervise(spec, (what) => void crashes.push(what));
    onClose(() => part.stop());
    return part;
  };
  // Relays first: they publish which kind goes to which target.
  const relays = await Promise.all([shop('relay-a', 'relay'), shop('relay-b', 'relay')]);
  const triage = await shop('order-triage', 'order-triage');
  const stopRelays = async (): Promise<void> => {
    await Promise.all(relays.map((relay) => relay.stop()));
  };
  return { database, pool, providers, relays, triage, crashes, stopRelays };
}
