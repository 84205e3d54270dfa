import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** A page of the manual. */
export interface Page {
  /** Path from the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** A link of a page to a file of the repository, or to a place in the page itself. */
export interface Link {
  readonly page: string;
  readonly text: string;
  /** Path from the root of the repository; absolute paths outside stay as they are. */
  readonly file: string;
  readonly anchor: string | undefined;
}

const shown = (path: string): string => relative(root, path).split(sep).join('/');
const page = (path: string): Page => ({ path: shown(path), text: readFileSync(path, 'utf8') });

/** Everything below docs/, the pages at the root, and those of the published packages. */
export function pages(): Page[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name));
  const others = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'CHANGELOG.md',
    'packages/comanda/README.md',
    'packages/cli/README.md',
  ];
  return [...others.map((path) => join(root, path)), ...docs].sort().map(page);
}

export const read = (path: string): string => readFileSync(join(root, path), 'utf8');
export const exists = (path: string): boolean => existsSync(join(root, path));

/** Fenced blocks and comments blanked, line for line: what is left is prose. */
export function prose(text: string): string {
  const blank = (block: string): string => block.replaceAll(/[^\n]/g, '');
  return text.replaceAll(/^([ \t]*)(```+)[\s\S]*?^\1\2[ \t]*$/gm, blank).replaceAll(/<!--[\s\S]*?-->/g, blank);
}

/** Links to files of the repository. Addresses of the web are left out. */
export function links({ path, text }: Page): Link[] {
  const inText = prose(text).replaceAll(/`[^`\n]*\]\([^`\n]*`/g, '');
  return [...inText.matchAll(/\[((?:\\.|[^\]\\])*)\]\(([^)\s]+)\)/g)].flatMap(([, label = '', target = '']) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [file = '', anchor] = target.split('#');
    const absolute = file === '' ? join(root, path) : resolve(root, dirname(path), file);
    return [
      { page: path, text: label.replaceAll(/\\(.)/g, '$1').replaceAll(/\s+/g, ' '), file: shown(absolute), anchor },
    ];
  });
}

/** The anchors that GitHub gives to the headings of a page, and those written by hand. */
export function anchors(text: string): Set<string> {
  const headings = [...prose(text).matchAll(/^#{1,6} +(.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)]);
}

const CALLS = new Set(['it', 'test', 'describe', 'check']);

/** Titles of the tests and suites of a file, as they are written there. */
export function testTitles(path: string): Set<string> {
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.ES2023, true);
  const titles = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && CALLS.has(rootName(node.expression))) {
      const [title] = node.arguments;
      if (title !== undefined && (ts.isStringLiteral(title) || ts.isNoSubstitutionTemplateLiteral(title)))
        titles.add(title.text);
      else if (title !== undefined && ts.isTemplateExpression(title)) titles.add(title.getText().slice(1, -1));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return titles;
}

/** `it` of `it.each(rows)`. */
function rootName(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) return rootName(node.expression);
  return '';
}
