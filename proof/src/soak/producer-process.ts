/*
 * A caller of the soak: decides, repeats, contradicts itself, rolls back and cancels, at a bounded rate. What it was told to
 * have happened is in its diary before anything else happens: whoever kills it finds there what must be true.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { randomOf } from '../random.js';
import { type Caller, nextAct } from './acts.js';
import { endWithStarter, say, settings } from './child-manners.js';
import type { Diary } from './diary.js';

export interface ProducerSettings {
  /** Different at every start: part of all its keys. */
  readonly name: string;
  readonly url: string;
  readonly diary: string;
  readonly seed: number;
  /** Acts a second. */
  readonly rate: number;
}

const { name, url, diary, seed, rate } = settings<ProducerSettings>();
const pool = new pg.Pool({ connectionString: url, max: 4, application_name: name, statement_timeout: 10_000 });
pool.on('error', () => undefined);
const file = openSync(diary, 'a');
const random = randomOf(seed);
const caller: Caller = {
  name,
  pool,
  random,
  note: (line: Diary) => void writeSync(file, `${JSON.stringify(line)}\n`),
};

endWithStarter();
let ending = false;
process.on('SIGTERM', () => {
  ending = true;
});
say({ ready: true });
const act = nextAct(caller);
const running = new Set<Promise<void>>();
while (!ending) {
  // Callers that wait for the database are few: a stall must not pile them up.
  if (running.size < 8) {
    const one = act().finally(() => running.delete(one));
    running.add(one);
  }
  await delay((2 * random() * 1_000) / rate);
}
await Promise.all(running);
await pool.end();
process.exit(0);
