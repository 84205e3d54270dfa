import type { Pool } from 'pg';

/** One look at the database from outside. */
export interface Look {
  readonly unattended: readonly { readonly what: string; readonly thing: string }[];
  /** Age of the oldest work that could be done now. */
  readonly oldestDueMs: number;
  readonly unfinished: number;
  readonly unknown: number;
}

/** Unfinished effects by where they are. Due: arrived, or a lane or a delay whose moment has come. */
const NUMBERS = `
select coalesce(extract(epoch from clock_timestamp() - least(
      (select min(a.arrived_at) from comanda.effect_arrival a),
      (select min(l.ready_at) from comanda.lane l where l.ready_at < clock_timestamp() and (l.owner is null or l.ready_at < clock_timestamp())),
      (select min(w.next_at) from comanda.waiting w where w.next_at < clock_timestamp()))) * 1000, 0)::float8 as due,
    ((select count(*) from comanda.effect_arrival) + (select count(*) from comanda.effect_queue) + (select count(*) from comanda.waiting))::int as unfinished,
    (select count(*) from comanda.lane l where l.trouble = 'unknown')::int as unknown`;

export async function look(pool: Pool): Promise<Look> {
  const holes = await pool.query<{ what: string; thing: string }>(
    'select what, thing from comanda.unattended limit 20',
  );
  const { rows } = await pool.query<{ due: number; unfinished: number; unknown: number }>(NUMBERS);
  const numbers = rows[0] ?? { due: 0, unfinished: 0, unknown: 0 };
  return {
    unattended: holes.rows,
    oldestDueMs: Math.max(0, Math.round(numbers.due)),
    unfinished: numbers.unfinished,
    unknown: numbers.unknown,
  };
}

/** Size of a table that should follow the work in hand, not the history. */
export interface HotTable {
  readonly table: string;
  /** With indexes. */
  readonly bytes: number;
  readonly rows: number;
  readonly dead: number;
}

const HOT = ['effect_arrival', 'effect_queue', 'lane', 'waiting', 'target', 'relay'];

export async function hotTables(pool: Pool): Promise<readonly HotTable[]> {
  const { rows } = await pool.query<HotTable>(
    `select relname as "table", pg_total_relation_size(relid)::float8 as bytes, n_live_tup::float8 as rows, n_dead_tup::float8 as dead
      from pg_stat_user_tables where schemaname = 'comanda' and relname = any ($1) order by relname`,
    [HOT],
  );
  return rows;
}
