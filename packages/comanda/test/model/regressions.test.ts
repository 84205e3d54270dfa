import { beforeAll, test } from 'vitest';
import { type Command, newPlay, play } from './commands.js';
import { type World, world } from './database.js';
import { heal } from './heal.js';

let w: World;
beforeAll(async () => {
  w = await world();
});

/** What the sequences found, shortened, as it was printed. */
const FOUND: Readonly<Record<string, readonly Command[]>> = {
  'what is decided by an agent while agents drain is not sent': [
    ['decide', 0, 0, 41],
    ['route', 0, 0, 0],
    ['switch', 12, 22, 0],
    ['claim', 0, 0, 0],
    ['step', 0, 0, 0],
  ],
};

test.each(Object.entries(FOUND))('%s', async (_, list) => {
  await w.reset();
  const p = newPlay(w, 2);
  for (const command of list) await play(p, command);
  await heal(p);
});
