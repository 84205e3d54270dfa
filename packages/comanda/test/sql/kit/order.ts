import type { Engine, Session } from './engine.js';
import { claim, ended, route, settle } from './steps.js';

/** Everything on the lane, in order, as long as somebody takes it. */
export async function drain(s: Engine): Promise<number[]> {
  const sent: number[] = [];
  for (;;) {
    await route(s);
    const taken = await claim(s, { kinds: ['mail', 'crm'], batch: 100 });
    if (taken.length === 0) return sent;
    const lanes = new Map(taken.map((c) => [c.lane, taken.filter((x) => x.lane === c.lane)]));
    for (const [, of] of lanes) await settle(s, of[0], 'next', { ended: of.map((c) => ended(c)) });
    sent.push(...taken.map((c) => c.effect_id));
  }
}

/** What has arrived and is on no lane yet, in order. */
export const arrivals = async (s: Session): Promise<number[]> =>
  (await s.rows<{ effect_id: number }>('select effect_id from comanda.effect_arrival order by id')).map(
    (x) => x.effect_id,
  );

/** Takes the advisory lock of a lane, as the commit of an open transaction does. */
export const lockLane = (s: Session, key: string) =>
  s.rows(`select pg_advisory_xact_lock(hashtextextended($1, 'comanda.effect_arrival'::regclass::oid::bigint))`, [key]);

/** Who waits for an advisory lock in this database. */
export const waitingForLocks = (s: Session) =>
  s.rows<{ pid: number; objid: number }>(
    `select pid, objid::bigint from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`,
  );
