import { createDatabase, type TestDatabase } from '@comanda/test-support';
import { type Decided, type Decision, decide, type EffectIntent, type Transaction } from 'comanda';
import { inPgTransaction } from 'comanda/adapters/pg';
import type pg from 'pg';

/** A migrated database of the test's own, with a pool on it. */
export interface Bench {
  readonly db: TestDatabase;
  readonly pool: pg.Pool;
  /** The rows of a statement that commits by itself. */
  rows<Row = Record<string, unknown>>(sql: string, ...params: unknown[]): Promise<Row[]>;
  /** The first column of the first row. */
  value<Value = unknown>(sql: string, ...params: unknown[]): Promise<Value>;
  /** A decision in a transaction of its own. */
  decide(decision: Decision): Promise<Decided>;
  transaction<Result>(work: (tx: Transaction, client: pg.PoolClient) => Promise<Result>): Promise<Result>;
  /** How many decisions, effects and arrivals there are. */
  counts(): Promise<{ runs: number; effects: number; arrivals: number }>;
}

export async function bench(connections = 10): Promise<Bench> {
  const db = await createDatabase();
  const pool = db.pool(connections);
  const rows = async <Row>(sql: string, ...params: unknown[]): Promise<Row[]> =>
    (await pool.query(sql, params)).rows as Row[];
  return {
    db,
    pool,
    rows,
    async value<Value>(sql: string, ...params: unknown[]) {
      const [row] = await rows<Record<string, unknown>>(sql, ...params);
      return Object.values(row ?? {})[0] as Value;
    },
    decide: (decision) => inPgTransaction(pool, (tx) => decide(tx, decision)),
    transaction: (work) => inPgTransaction(pool, work),
    async counts() {
      const [found] = await rows<{ runs: number; effects: number; arrivals: number }>(
        `select (select count(*)::int from comanda.run) as runs, (select count(*)::int from comanda.effect) as effects,
           (select count(*)::int from comanda.effect_arrival) as arrivals`,
      );
      return found ?? { runs: -1, effects: -1, arrivals: -1 };
    },
  };
}

/** A decision with one effect. */
export function one(key: string, payload: unknown, options: Omit<EffectIntent, 'kind' | 'payload'> = {}): Decision {
  return { key, effects: [{ kind: 'refund', payload, ...options }] };
}

/** What a promise rejects with, as `{ code, sqlstate?, … }`, or `undefined` when it does not. */
export async function thrownBy(work: Promise<unknown>): Promise<Record<string, unknown> | undefined> {
  return await work.then(
    () => undefined,
    (error: Record<string, unknown>) => error,
  );
}

/** Waits until some backend of this database waits for a lock. */
export const LOCK_WAITS = `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
