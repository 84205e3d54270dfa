import fc from 'fast-check';
import { type Command, commandLists, newPlay, play } from './commands.js';
import type { World } from './database.js';
import { heal } from './heal.js';

/** Commands in one run at most. */
const MOST = 120;

export type Found = fc.RunDetails<[Command[]]> & {
  /** Commands that did something. */
  readonly commands: number;
};

/** Plays lists of commands, each on an empty database, and heals afterwards. */
export async function sequences(w: World, relays: number, parameters: fc.Parameters<[Command[]]>): Promise<Found> {
  let commands = 0;
  const property = fc.asyncProperty(commandLists(MOST), async (list) => {
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
  const found = await fc.check(property, parameters);
  return { ...found, commands };
}
