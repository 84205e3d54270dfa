import { randomBytes } from 'node:crypto';
import { spawnNode } from '@comanda/test-support';
import pg from 'pg';
import { watch } from '../run/victims.js';
import type { World } from '../run/world.js';
import type { BookEntry } from '../stage/book.js';
import { type Aim, type Boundary, POINTS } from '../watch/boundary.js';
import { createPolls } from '../watch/polls.js';
import { createTap } from '../watch/tap.js';

/** The two orders of writing a state and calling a provider, and an outbox whose call carries no key. */
export type Way = 'state, then call' | 'call, then state' | 'outbox, no key';

export const WAYS: readonly Way[] = ['state, then call', 'call, then state', 'outbox, no key'];

export interface NaiveConfig {
  readonly way: Way;
  readonly database: string;
  /** URL that makes the refund. */
  readonly call: string;
}

/** What a way loses and doubles when it is killed at each of its boundaries, as ours is. */
export interface NaiveEnd {
  readonly way: Way;
  readonly boundaries: number;
  readonly kills: number;
  readonly lost: number;
  readonly duplicated: number;
}

const PROGRAM = new URL('../processes/naive-process.js', import.meta.url);

export async function tryWay(world: World, way: Way): Promise<NaiveEnd> {
  const { seen } = await once(world, way);
  const ends = { lost: 0, duplicated: 0, kills: 0 };
  for (const boundary of seen) {
    for (const point of POINTS) {
      const { refunded, accepted } = await once(world, way, { boundary, point });
      ends.kills += 1;
      if (refunded && accepted === 0) ends.lost += 1;
      if (accepted > 1) ends.duplicated += 1;
    }
  }
  return { way, boundaries: seen.length, ...ends };
}

interface OrderEnd {
  readonly seen: readonly Boundary[];
  readonly refunded: boolean;
  readonly accepted: number;
}

async function once(world: World, way: Way, aim?: Aim): Promise<OrderEnd> {
  const id = randomBytes(5).toString('hex');
  const database = await world.databases.take();
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const book = `http://127.0.0.1:${world.provider.http}/${id}/book`;
  try {
    await pool.query(`insert into shop.orders values ('ORD-1', 'received')`);
    const tap = createTap(createPolls(), aim);
    tap.begin();
    const addresses = { database: database.url, http: world.provider.http, mail: world.provider.mail };
    await play(way, id, addresses, tap);
    if (aim !== undefined && !tap.hasKilled)
      throw new Error(`"${way}" was not killed ${aim.point} ${aim.boundary.name}`);
    const { rows } = await pool.query<{ status: string }>('select status from shop.orders');
    const entries = (await (await fetch(book)).json()) as readonly BookEntry[];
    return {
      seen: tap.seen,
      refunded: rows[0]?.status === 'refunded',
      accepted: entries.filter(({ event }) => event === 'accepted').length,
    };
  } finally {
    await pool.end();
    await fetch(book, { method: 'DELETE' });
    await database.release();
  }
}

/** Runs it watched, and when it was killed once more. */
async function play(
  way: Way,
  id: string,
  addresses: Parameters<typeof watch>[1],
  tap: ReturnType<typeof createTap>,
): Promise<void> {
  const watched = await watch(
    (at) => spawnNode(PROGRAM, [JSON.stringify(configOf(way, id, at.database, at.provider))], { reap: false }),
    addresses,
    tap,
  );
  await watched.child.exited;
  watched.close();
  if (!tap.hasKilled) return;
  const again = configOf(way, id, addresses.database, `http://127.0.0.1:${addresses.http}`);
  const child = spawnNode(PROGRAM, [JSON.stringify(again)], { reap: false });
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`"${way}" failed when started again:\n${child.output()}`);
}

function configOf(way: Way, run: string, database: string, provider: string): NaiveConfig {
  return { way, database, call: `${provider}/${run}/plain/refund` };
}
