import { describe, expect, test } from 'vitest';
import { anchors, exists, links, pages, prose, read, testTitles } from './pages.js';

/** Files whose tests have titles; the checks of the conformance suite have names. */
const TESTS = /[.]test[.]ts$|[/]adapter-conformance[.]ts$/;

const all = pages();
const linksOfAll = all.flatMap(links);

describe('links of the manual', () => {
  test('lead to files that exist', () => {
    expect(linksOfAll.filter(({ file }) => !exists(file)).map(({ page, file }) => `${page}: ${file}`)).toEqual([]);
  });

  test('lead to headings that exist', () => {
    const wrong = linksOfAll
      .filter(({ file, anchor }) => anchor !== undefined && file.endsWith('.md') && exists(file))
      .filter(({ file, anchor }) => !anchors(read(file)).has(anchor ?? ''));
    expect(wrong.map(({ page, file, anchor }) => `${page}: ${file}#${anchor}`)).toEqual([]);
  });

  // A promise or a case is only as good as the test that holds it: the text of such a link is the title of the test.
  test('to tests name a test of that file', () => {
    const toTests = linksOfAll.filter(({ file }) => TESTS.test(file) && exists(file));
    expect(toTests.length).toBeGreaterThan(50);
    const titles = new Map([...new Set(toTests.map(({ file }) => file))].map((file) => [file, testTitles(file)]));
    const wrong = toTests.filter(({ file, text }) => titles.get(file)?.has(text) !== true);
    expect(wrong.map(({ page, file, text }) => `${page}: ${file} has no test "${text}"`)).toEqual([]);
  });

  test('reach every page', () => {
    const reached = new Set(linksOfAll.map(({ file }) => file));
    const lonely = all.filter(
      ({ path }) => path.startsWith('docs/') && !reached.has(path) && path !== 'docs/adr/template.md',
    );
    expect(lonely.map(({ path }) => path)).toEqual([]);
  });
});

describe('the rules themselves', () => {
  test('a link, its anchor and the text of a test link are read', () => {
    const text = 'See [a \\[b\\]](reference/x.md#y) and [web](https://example.com).\n\n```sh\n[no](link.md)\n```\n';
    expect(links({ path: 'docs/p.md', text })).toEqual([
      { page: 'docs/p.md', text: 'a [b]', file: 'docs/reference/x.md', anchor: 'y' },
    ]);
    expect(prose(text)).not.toContain('link.md');
  });

  test('headings give the anchors that GitHub gives', () => {
    expect([...anchors('## COMANDA_KEY_CONFLICT\n### What is sent, and when?\n')]).toEqual([
      'comanda_key_conflict',
      'what-is-sent-and-when',
    ]);
  });
});
