import { randomOf } from '../random.js';

/**
 * Works through a list with several hands; what they bring comes in the order of the list. The first error ends the work.
 *
 * @param goOn asked before each item; what is left when it says no has no result
 */
export async function together<Item, Result>(
  items: readonly Item[],
  hands: number,
  work: (item: Item) => Promise<Result>,
  goOn: () => boolean = () => true,
): Promise<readonly Result[]> {
  const results: Result[] = new Array<Result>(items.length);
  let next = 0;
  const hand = async (): Promise<void> => {
    while (next < items.length && goOn()) {
      const i = next;
      next += 1;
      results[i] = await work(items[i] as Item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(hands, items.length) }, hand));
  return results.slice(0, next);
}

/** So many of the list, drawn with the seed. */
export function sample<Item>(items: readonly Item[], size: number, seed: number): readonly Item[] {
  const random = randomOf(seed);
  return items
    .map((item) => ({ item, place: random() }))
    .sort((a, b) => a.place - b.place)
    .slice(0, size)
    .map(({ item }) => item);
}
