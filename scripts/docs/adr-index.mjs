import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from './markdown.mjs';

/** The decision records, by number, with their status. */
export function adrIndex(folder) {
  const files = readdirSync(folder)
    .filter((name) => /^\d{4}-.+\.md$/.test(name))
    .sort();
  return table(
    ['no.', 'decision', 'status'],
    files.map((name) => {
      const text = readFileSync(join(folder, name), 'utf8');
      const [, number, title] = /^# (\d{4}) (.+)$/m.exec(text) ?? [];
      const [, status] = /^\| Status \| (.+?) \|$/m.exec(text) ?? [];
      if (title === undefined || status === undefined) {
        throw new Error(`${name}: a record starts with "# NNNN title" and has a header row "| Status | … |"`);
      }
      return [number, `[${title}](${name})`, status];
    }),
  );
}
