import { beforeAll, expect, test } from 'vitest';
import { type World, world } from './database.js';
import { sequences } from './property.js';

/** One database for all runs of the file, emptied between them. */
let w: World;
beforeAll(async () => {
  w = await world();
});

const env = (name: string): number | undefined =>
  process.env[name] === undefined ? undefined : Number(process.env[name]);
const minutes = env('COMANDA_MODEL_MINUTES') ?? (process.env['COMANDA_LONG'] === '1' ? 60 : undefined);
const runs = env('COMANDA_MODEL_RUNS') ?? (minutes === undefined ? 15 : 10_000_000);
/** The same stories each time with the tests of a change; new ones, for as long as one likes, in the long form. */
const seed = env('COMANDA_MODEL_SEED') ?? (minutes === undefined ? 1 : Date.now() % 2 ** 31);
const path = process.env['COMANDA_MODEL_PATH'];

test.each([2, 3])(
  '%i relays: whatever is done in whatever order, the contract holds, and everything ends',
  { timeout: (minutes ?? 0) * 60_000 + 900_000 },
  async (relays) => {
    const started = performance.now();
    const found = await sequences(w, relays, {
      seed: seed + relays,
      ...(path === undefined ? {} : { path, seed, endOnFailure: true }),
      numRuns: runs,
      ...(minutes === undefined ? {} : { interruptAfterTimeLimit: (minutes * 60_000) / 2 }),
    });
    if (process.env['COMANDA_FIGURES'] === '1') {
      const seconds = (performance.now() - started) / 1_000;
      console.log(`${relays} relays: ${found.numRuns} runs, ${found.commands} commands, ${seconds.toFixed(1)} s`);
    }
    if (!found.failed) return;
    const again = `COMANDA_MODEL_SEED=${found.seed} COMANDA_MODEL_PATH=${found.counterexamplePath ?? ''}`;
    expect.fail(
      `${String(found.errorInstance)}
repeat: ${again} npx vitest run --project database packages/comanda/test/model/sequences.test.ts -t '${relays} relays'
commands: ${JSON.stringify(found.counterexample?.[0])}`,
    );
  },
);
