import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** What a caller was told. */
export type Diary =
  /** Committed. */
  | { readonly event: 'decided'; readonly key: string }
  /** Rolled back after the decision: must not exist. */
  | { readonly event: 'rolledBack'; readonly key: string }
  /** The same decision again: nothing new. */
  | { readonly event: 'repeated'; readonly key: string }
  /** The same key with other content: refused. */
  | { readonly event: 'conflict'; readonly key: string }
  /** All effects of the decision were taken back, exactly. */
  | { readonly event: 'cancelled'; readonly key: string }
  | { readonly event: 'cancelAsked'; readonly key: string }
  /** Something was answered that must never be. */
  | { readonly event: 'wrong'; readonly key: string; readonly what: string }
  /** The connection broke, so that nobody knows. */
  | { readonly event: 'uncertain'; readonly key: string; readonly error: string };

/** Lines of JSON, one after the other; one that a kill has cut off is left out. */
export async function* linesOf<Line>(file: string): AsyncGenerator<Line> {
  if (!existsSync(file)) return;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    try {
      yield JSON.parse(text) as Line;
    } catch {
      // The writer was killed in the middle of it.
    }
  }
}
