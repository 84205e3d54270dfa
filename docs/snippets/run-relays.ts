import { pgListener, pgStandalone } from 'comanda/adapters/pg';
import { createRelay, type Relay } from 'comanda/relay';
import type pg from 'pg';
import { mail, refund } from './http-effects.js';

// #region relay
export function makeRelay(pool: pg.Pool, connectionString: string): Relay {
  return createRelay({
    database: pgStandalone(pool),
    listener: pgListener({ connectionString }),
    effects: [refund, mail],
    lease: '30s',
    shutdownGrace: '30s',
    aiActions: 'unset',
    softwareVersion: '2026.11.1',
    observer: (event) => {
      if (event.type === 'warning') console.error(event.code, event.message, event.error ?? '');
    },
  });
}
// #endregion
