import type { Random } from '@comanda/test-support/random';

export { type Random, randomOf } from '@comanda/test-support/random';

/** One of the list, which must not be empty. */
export function oneOf<Item>(random: Random, list: readonly Item[]): Item {
  const item = list[Math.floor(random() * list.length)];
  if (item === undefined) throw new Error('nothing to choose from');
  return item;
}

export function between(random: Random, least: number, most: number): number {
  return least + random() * (most - least);
}
