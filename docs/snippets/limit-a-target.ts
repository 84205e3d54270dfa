import { pgStandalone } from 'comanda/adapters/pg';
import { createRelay, type Relay } from 'comanda/relay';
import type pg from 'pg';
import { mail, refund } from './http-effects.js';

// #region relay
export function makeRelay(pool: pg.Pool): Relay {
  return createRelay({
    database: pgStandalone(pool),
    effects: [refund, mail],
    targets: { payments: { ratePerSecond: 50, concurrency: 20 } },
    breaker: { failures: 10 },
  });
}
// #endregion
