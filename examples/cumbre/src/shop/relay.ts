/*
 * A relay of the shop as a process. Start as many as you like; kill them whenever you like.
 */
import { pgListener, pgStandalone } from 'comanda/adapters/pg';
import { createRelay } from 'comanda/relay';
import pg from 'pg';
import { endWithParent, ready, setting } from '../part.js';
import { cumbreEffects, type Providers } from './effects.js';

const connectionString = setting('DATABASE_URL');
const pool = new pg.Pool({ connectionString, max: 5, application_name: `${setting('NAME')} ${process.pid}` });
pool.on('error', (error) => console.error(error.message)); // an idle connection broke; the pool makes a new one

const relay = createRelay({
  database: pgStandalone(pool),
  listener: pgListener({ connectionString }),
  effects: cumbreEffects(JSON.parse(setting('PROVIDERS')) as Providers, setting('NAME')),
  lease: '2500ms', // what a dead relay held is taken over after this time. Default 30 s
  safetyPoll: '500ms',
  shutdownGrace: '3s',
  observer: (event) => {
    if (event.type === 'warning') console.error(event.code, event.message, event.error ?? '');
  },
});

async function stop(): Promise<void> {
  await relay.stop();
  await pool.end();
  process.exit(0);
}

endWithParent();
process.once('SIGTERM', () => void stop());
await relay.start();
ready({ relay: relay.id });
