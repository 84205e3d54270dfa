import { didYouMean } from '../kernel/did-you-mean.js';
import type { Queryable } from '../ports/database.js';
import { createReader, readQuery } from './read.js';
import type { RunRow } from './rows.js';
import type { StorySource } from './story.js';

/** A key that somebody may have meant. */
export interface NearKey {
  readonly key: string;
  readonly subject: string;
}

const NEAR_MAX = 5;

/** Reads what the story of a key is made of; `undefined` when no decision has the key, and none of its effects. */
export async function readStory(db: Queryable, schema: string, key: string): Promise<StorySource | undefined> {
  const [found] = await readQuery<{ key: string }>(db, schema, 'observe/run_of_key', [key]);
  if (found === undefined) return undefined;
  const [run] = await readQuery<RunRow>(db, schema, 'observe/story_run', [found.key]);
  if (run === undefined) return undefined;
  const reader = createReader(db, schema);
  const [file, switches, relays] = await Promise.all([reader.file(run.effect_ids), reader.switches(), reader.relays()]);
  const ahead = file.effects.flatMap((effect) => /^behind effect (\d+)$/.exec(effect.blocked_by ?? '')?.[1] ?? []);
  const { effects: heads } = ahead.length === 0 ? { effects: [] } : await reader.file([...new Set(ahead)]);
  return { run, file, heads, switches, relays };
}

/** Keys near to one that is not known, the likeliest first: decisions about a subject of that name, then keys that differ by a typing mistake or continue it. */
export async function nearKeys(db: Queryable, schema: string, key: string): Promise<readonly NearKey[]> {
  const rows = await readQuery<NearKey & { same_subject: boolean }>(db, schema, 'observe/near_keys', [key]);
  return rankNear(key, rows);
}

/** The pure part of {@link nearKeys}. */
export function rankNear(
  key: string,
  rows: readonly (NearKey & { readonly same_subject: boolean })[],
): readonly NearKey[] {
  const word = key.toLowerCase();
  const related = rows.filter((row) => row.same_subject || contains(row.key, word) || contains(row.subject, word));
  const rest = new Map(rows.filter((row) => !related.includes(row)).map((row) => [row.key, row]));
  const typed: NearKey[] = [];
  while (typed.length < NEAR_MAX) {
    const best = didYouMean(key, [...rest.keys()]);
    const row = best === undefined ? undefined : rest.get(best);
    if (best === undefined || row === undefined) break;
    typed.push(row);
    rest.delete(best);
  }
  const bySubjectFirst = [...related].sort(
    (a, b) => Number(b.same_subject) - Number(a.same_subject) || a.key.length - b.key.length,
  );
  return [...bySubjectFirst, ...typed].slice(0, NEAR_MAX).map(({ key: near, subject }) => ({ key: near, subject }));
}

function contains(text: string, word: string): boolean {
  const whole = text.toLowerCase();
  return word.length >= 3 && (whole.includes(word) || (whole.length >= 3 && word.includes(whole)));
}
