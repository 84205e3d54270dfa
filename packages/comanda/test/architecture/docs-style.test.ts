import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type Page, pages, prose, read } from './pages.js';

const all = pages();
const ofReaders = all.filter(({ path }) => path === 'README.md' || /^docs\/(how-to|tutorials)\//.test(path));

const found = (list: readonly Page[], look: (text: string) => Iterable<RegExpMatchArray>): string[] =>
  list.flatMap((page) => [...look(page.text)].map((match) => `${page.path}: ${match[0].trim().slice(0, 80)}`));

/** Snippets and what is made from the code: run or compared elsewhere. */
const INCLUDED = /<!-- include: \S+ -->[\s\S]*?<!-- \/include -->/g;

describe('the manual', () => {
  test('promises nothing by tone', () => {
    const words = /\b(just|easy|easily|simply|magic|magically|obviously|blazing|seamless\w*|effortless\w*)\b/gi;
    expect(found(all, (text) => prose(text.replaceAll(INCLUDED, '')).matchAll(words))).toEqual([]);
  });

  test('has no pictograms', () => {
    expect(found(all, (text) => text.matchAll(/\p{Extended_Pictographic}/gu))).toEqual([]);
  });

  test('shows readers only TypeScript and SQL that tests run', () => {
    expect(found(ofReaders, (text) => text.replaceAll(INCLUDED, '').matchAll(/^[ \t]*```(ts|sql|js)\b/gm))).toEqual([]);
  });

  test('says "exactly once" only where it says why not', () => {
    const allowed = new Set([
      'README.md',
      'docs/explanation/promises.md',
      'docs/explanation/why-no-order-is-good.md',
      'docs/reference/glossary.md',
    ]);
    expect(
      found(
        all.filter(({ path }) => !allowed.has(path)),
        (text) => prose(text).matchAll(/exactly[ -]once/gi),
      ),
    ).toEqual([]);
  });
});

describe('decision records', () => {
  const folder = 'docs/adr';
  const names = readdirSync(fileURLToPath(new URL(`../../../../${folder}`, import.meta.url))).filter((name) =>
    /^\d{4}-/.test(name),
  );
  const SECTIONS = ['Context', 'Decision', 'Alternatives', 'Consequences', 'How we will notice that it was wrong'];

  test('are numbered without a hole', () => {
    expect(names.map((name) => Number(name.slice(0, 4)))).toEqual(names.map((_, i) => i + 1));
  });

  test.each(names)('%s has its number, its header and its sections', (name) => {
    const text = read(`${folder}/${name}`);
    expect(text).toMatch(new RegExp(`^# ${name.slice(0, 4)} \\S`));
    for (const row of ['Status', 'Date', 'Tags']) expect(text).toMatch(new RegExp(`^\\| ${row} \\| .+ \\|$`, 'm'));
    expect([...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual(SECTIONS);
  });
});
