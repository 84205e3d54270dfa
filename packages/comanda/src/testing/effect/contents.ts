import type { BookEntry, ProviderDouble } from '../provider/types.js';

/** The different contents that were sent to each place; the effect's key is left out of the place, so that effects can be compared. */
export function contentsOf(
  { protocol }: ProviderDouble,
  book: readonly BookEntry[],
  key: string,
): ReadonlyMap<string, readonly string[]> {
  const places = new Map<string, string[]>();
  for (const { what, method, path, key: sent = '', body } of book) {
    if (what !== 'act') continue;
    const place = `${method} ${path.replaceAll(encodeURIComponent(key), '<key>').replaceAll(key, '<key>')}`;
    // A message carries its time; what makes it the same is its Message-ID.
    const content = protocol === 'smtp' ? sent : `key ${sent}: ${body}`;
    const seen = places.get(place) ?? [];
    if (!seen.includes(content)) places.set(place, [...seen, content]);
  }
  return places;
}
