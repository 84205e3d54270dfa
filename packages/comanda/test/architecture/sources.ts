import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Source {
  /** Path from the root of the repository, with `/`. */
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly line: number;
  readonly what: string;
}

function files(folder: string, extension: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(root, path).split(sep).join('/'), text: readFileSync(path, 'utf8') }))
    .filter(({ path }) => !/\/(node_modules|dist|generated)\//.test(path))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The TypeScript below `folder`, test files left out. */
export const productSources = (folder = 'packages/comanda/src'): Source[] =>
  files(folder, '.ts').filter(({ path }) => !path.endsWith('.test.ts'));

export const sqlSources = (): Source[] => files('packages/comanda/sql', '.sql');

/** Calls `visit` for each node and collects what it returns, so that comments and strings never count as code. */
export function findInCode(source: Source, visit: (node: ts.Node) => string | undefined): Finding[] {
  const file = ts.createSourceFile(source.path, source.text, ts.ScriptTarget.ES2023, true);
  const found: Finding[] = [];
  const walk = (node: ts.Node): void => {
    const what = visit(node);
    if (what !== undefined) found.push({ line: lineOf(source.text, node.getStart(file)), what });
    ts.forEachChild(node, walk);
  };
  walk(file);
  return found;
}

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** `path:line what`, one per finding: the form in which the assertions compare, so that a failure names its places. */
export function report(sources: readonly Source[], find: (source: Source) => readonly Finding[]): string[] {
  return sources.flatMap((source) => find(source).map(({ line, what }) => `${source.path}:${line} ${what}`));
}
