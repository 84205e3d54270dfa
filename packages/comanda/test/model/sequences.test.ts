import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { commandLists, newPlay, play } from './commands.js';
import { type World, world } from './database.js';
import { heal } from './heal.js';

/** One database for all runs of the file, emptied between them. */
let w: World;
beforeAll(async () => {
  w = await world();
});

const env = (name: string): number | undefined =>
  process.env[name] === undefined ? undefined : Number(process.env[name]);
const minutes = env('COMANDA_MODEL_MINUTES') ?? (process.env['COMANDA_LONG'] === '1' ? 60 : undefined);
const seed = env('COMANDA_MODEL_SEED') ?? Date.now() % 2 ** 31;
const path = process.env['COMANDA_MODEL_PATH'];

test.each([2, 3])(
  '%i relays: whatever is done in whatever order, the contract holds, and everything ends',
  { timeout: (minutes ?? 2) * 60_000 + 600_000 },
  async (relays) => {
    let commands = 0;
    const started = performance.now();
    const property = fc.asyncProperty(commandLists(80), async (list) => {
      await w.reset();
      const p = newPlay(w, relays);
      try {
        for (const command of list) await play(p, command);
        await heal(p);
      } finally {
        if (p.open !== undefined) await w.caller.rows('rollback');
        commands += p.done;
      }
    });
    const found = await fc.check(property, {
      seed,
      ...(path === undefined ? {} : { path }),
      numRuns: env('COMANDA_MODEL_RUNS') ?? (minutes === undefined ? 100 : 1_000_000),
      ...(minutes === undefined ? {} : { interruptAfterTimeLimit: (minutes * 60_000) / 2 }),
    });
    const seconds = (performance.now() - started) / 1000;
    if (process.env['COMANDA_MODEL_FIGURES'] !== undefined)
      console.log(`${relays} relays: ${found.numRuns} runs, ${commands} commands, ${seconds.toFixed(1)} s`);
    if (found.failed) {
      const again = `COMANDA_MODEL_SEED=${found.seed} COMANDA_MODEL_PATH=${found.counterexamplePath ?? ''}`;
      const list = JSON.stringify(found.counterexample?.[0]);
      expect.fail(
        `${String(found.errorInstance)}\nrepeat: ${again} npx vitest run --project database packages/comanda/test/model/sequences.test.ts -t '${relays} relays'\ncommands: ${list}`,
      );
    }
  },
);
