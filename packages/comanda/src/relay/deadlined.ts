import type { Clock } from '../kernel/clock.js';
import type { Queryable } from '../ports/database.js';

/**
 * A database handle whose statements are given up after a while: a connection that neither answers nor breaks must not hold a relay for ever.
 * Giving one up is safe: fences decide what a statement that arrives late can still do. The adapter is told too: a connection that stays silent must not
 * keep its place in the pool.
 */
export function deadlined(database: Queryable, clock: Clock, ms: number): Queryable {
  return {
    query: <Row>(text: string, params: readonly unknown[]) =>
      new Promise<readonly Row[]>((resolve, reject) => {
        const timer = clock.after(ms, () => {
          reject(
            Object.assign(new Error(`the database did not answer within ${Math.round(ms)} ms`), { code: 'ETIMEDOUT' }),
          );
        });
        database
          .query<Row>(text, params, ms)
          .then(resolve, reject)
          .finally(() => timer.cancel());
      }),
  };
}
