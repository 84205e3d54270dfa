import ts from 'typescript';
import { expect, test } from 'vitest';
import { type Finding, findInCode, lineOf, productSources, report, type Source, sqlSources } from './sources.js';

// With `$1::jsonb` postgres.js declares the parameter as jsonb and encodes the text a second time, as a JSON string.
// `$1::text::jsonb` means the same with every driver.
const CAST = /\$\d+\s*::\s*jsonb?\b/gi;

function inSql({ text }: Source): Finding[] {
  const code = text.replaceAll(/--[^\n]*/g, (comment) => ' '.repeat(comment.length));
  return [...code.matchAll(CAST)].map((match) => ({ line: lineOf(text, match.index), what: match[0] }));
}

function inStrings(source: Source): Finding[] {
  return findInCode(source, (node) =>
    ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)
      ? node.text.match(CAST)?.join(' ')
      : undefined,
  );
}

test('no SQL file casts a parameter straight to jsonb', () => {
  expect(report(sqlSources(), inSql)).toEqual([]);
});

test.each(['packages/comanda/src', 'packages/cli/src', 'test-support/src', 'examples', 'bench'])(
  'no SQL text in %s casts a parameter straight to jsonb',
  (folder) => {
    expect(report(productSources(folder), inStrings)).toEqual([]);
  },
);

test('the cast is seen in a string, in a template and in SQL, but not in a comment', () => {
  const casts = (text: string): number => inStrings({ path: 'x.ts', text }).length;
  expect(casts("q('select $1::jsonb')")).toBe(1);
  // biome would take the placeholder for a mistake in a plain string
  expect(casts(['q(`select $', '{a}, $2 :: jsonb`)'].join(''))).toBe(1);
  expect(casts("q('select $1::text::jsonb') // $1::jsonb")).toBe(0);
  expect(inSql({ path: 'x.sql', text: '-- $1::jsonb\nselect $1::jsonb' })).toEqual([{ line: 2, what: '$1::jsonb' }]);
});
