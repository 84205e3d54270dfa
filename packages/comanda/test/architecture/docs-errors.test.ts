import { expect, test } from 'vitest';
import { ERRORS, type ErrorEntry } from '../../src/kernel/error-registry.js';
import { comandaError } from '../../src/kernel/errors.js';
import { anchors, read } from './pages.js';

const PAGE = 'docs/reference/errors.md';
const entries = Object.entries(ERRORS) as [keyof typeof ERRORS, ErrorEntry][];
const text = read(PAGE);

/** What stands between the heading of a code and the next heading. */
const section = (code: string): string => text.split(`\n## ${code}\n`)[1]?.split('\n## ')[0] ?? '';

test.each(entries)('%s leads to its section, which names its SQLSTATE', (code, { sqlstate }) => {
  const [file, anchor = ''] = comandaError(code).docs.split('#');
  expect(file).toBe(PAGE);
  expect([...anchors(text)]).toContain(anchor);
  expect(section(code)).toContain(sqlstate ?? 'only TypeScript raises it');
});

test('nothing is explained that does not exist', () => {
  const explained = [...text.matchAll(/^## (COMANDA_\w+)$/gm)].map(([, code]) => code);
  expect(explained).toEqual(entries.map(([code]) => code));
});
