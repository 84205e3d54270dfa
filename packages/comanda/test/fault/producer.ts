import { eventually } from '@comanda/test-support';
import type pg from 'pg';
import { inPgTransaction } from '../../src/adapters/pg/index.js';
import { decide } from '../../src/index.js';
import { decisionOf } from './kit.js';

/**
 * Callers that decide one thing after the other, and repeat the same key until they were told that it is decided. Each waits until its
 * refund is done (or cannot be asked for) before it decides the next, so that there is always work and never a backlog.
 */
export interface Producer {
  /** Decisions that were confirmed. */
  readonly confirmed: number;
  /** Transactions that ended with an error. */
  readonly errors: readonly unknown[];
  /** Begins no more; resolves when every key that was begun is confirmed. */
  stop(): Promise<void>;
}

export function startProducer(pool: pg.Pool, prefix: string, callers = 8): Producer {
  let stopping = false;
  let confirmed = 0;
  const errors: unknown[] = [];
  const once = async (key: string): Promise<boolean> => {
    try {
      await inPgTransaction(pool, (tx) => decide(tx, decisionOf(key)));
      return true;
    } catch (error) {
      errors.push(error);
      return false;
    }
  };
  const done = async (key: string): Promise<boolean> =>
    (
      await pool.query(
        `select from comanda.effect_state where run_key = $1 and kind = 'keyed' and state = 'completed'`,
        [key],
      )
    ).rowCount === 1;
  const caller = async (name: number) => {
    for (let n = 0; !stopping; n += 1) {
      const key = `${prefix}${name}-${n}`;
      await eventually(() => once(key), { withinMs: 120_000, everyMs: 50, what: `the decision ${key}` });
      confirmed += 1;
      await eventually(() => stopping || done(key).catch(() => true), {
        withinMs: 120_000,
        everyMs: 30,
        what: `the refund of ${key}`,
      });
    }
  };
  const running = Promise.all(Array.from({ length: callers }, (_, name) => caller(name)));
  running.catch(() => {});
  return {
    get confirmed() {
      return confirmed;
    },
    errors,
    async stop() {
      stopping = true;
      await running;
    },
  };
}
