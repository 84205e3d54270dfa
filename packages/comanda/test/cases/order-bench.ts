import { performance } from 'node:perf_hooks';
import { decide } from 'comanda';
import { pgTransaction } from 'comanda/adapters/pg';
import type pg from 'pg';

/*
 * P6 by measurement. Callers change one of three aggregates under its row lock and decide an effect in its lane; half of them decide
 * before they lock, half after. The version under the row lock is the order of the truth; the place in the lane is the order of
 * execution. An inversion is an effect whose place contradicts the version of its neighbour.
 */

/** `ours` draws the place at COMMIT; the two others are what one would write first. */
export type Way = 'ours' | 'position at decide' | 'lock in decide';

export interface OrderResult {
  readonly way: Way;
  readonly commits: number;
  readonly inversions: number;
  readonly deadlocks: number;
  readonly otherErrors: number;
}

/** Tables of the test, and the two naive ways as the plain SQL they are. */
export const ORDER_SETUP = `
  create table aggregate_of_test (id int primary key, version bigint not null);
  insert into aggregate_of_test select n, 0 from generate_series(1, 3) n;
  create table decided_of_test (key text primary key, aggregate int not null, version bigint not null);
  create table naive_outbox (position bigint generated always as identity, key text primary key, lane text not null);
`;

const DECIDE: Readonly<Record<Way, (client: pg.Client, key: string, lane: string) => Promise<unknown>>> = {
  ours: (client, key, lane) => decide(pgTransaction(client), { key, effects: [{ kind: 'x', orderingKey: lane }] }),
  'position at decide': (client, key, lane) =>
    client.query('insert into naive_outbox (key, lane) values ($1, $2)', [key, lane]),
  'lock in decide': async (client, key, lane) => {
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [lane]);
    await client.query('insert into naive_outbox (key, lane) values ($1, $2)', [key, lane]);
  },
};

const PLACES: Readonly<Record<Way, string>> = {
  ours: `select r.key, a.lane, a.id as place from comanda.effect_arrival a join comanda.effect e on e.id = a.effect_id join comanda.run r on r.id = e.run_id`,
  'position at decide': 'select key, lane, position as place from naive_outbox',
  'lock in decide': 'select key, lane, position as place from naive_outbox',
};

/** Runs eight callers for `ms` and judges what they left. */
export async function orderBench(clients: readonly pg.Client[], way: Way, ms: number): Promise<OrderResult> {
  const count = { commits: 0, deadlocks: 0, otherErrors: 0 };
  const until = performance.now() + ms;
  await Promise.all(
    clients.map(async (client, caller) => {
      await client.query("set deadlock_timeout = '1s'");
      for (let n = 0; performance.now() < until; n++) {
        const aggregate = 1 + ((caller * 7 + n * 5) % 3);
        const outcome = await once(client, way, `${way}:${caller}:${n}`, aggregate, caller % 2 === 0);
        count[outcome] += 1;
      }
    }),
  );
  const [first] = clients;
  const { rows } = (await first?.query(
    `select count(*)::int as inversions from (
       select d.version < lag(d.version) over (partition by d.aggregate order by p.place) as inverted
         from (${PLACES[way]}) p join decided_of_test d on d.key = p.key) x where x.inverted`,
  )) ?? { rows: [] };
  return { way, ...count, inversions: rows[0]?.inversions ?? -1 };
}

async function once(
  client: pg.Client,
  way: Way,
  key: string,
  aggregate: number,
  decidesFirst: boolean,
): Promise<'commits' | 'deadlocks' | 'otherErrors'> {
  try {
    await client.query('begin');
    if (decidesFirst) await DECIDE[way](client, key, `lane ${aggregate}`);
    await client.query(
      `with next as (update aggregate_of_test set version = version + 1 where id = $1 returning version)
         insert into decided_of_test select $2, $1, version from next`,
      [aggregate, key],
    );
    if (!decidesFirst) await DECIDE[way](client, key, `lane ${aggregate}`);
    await client.query('commit');
    return 'commits';
  } catch (error) {
    await client.query('rollback');
    const { code, sqlstate } = error as { code?: string; sqlstate?: string };
    return (sqlstate ?? code) === '40P01' ? 'deadlocks' : 'otherErrors';
  }
}
