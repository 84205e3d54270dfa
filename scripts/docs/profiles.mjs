import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { table } from './markdown.mjs';
import { docOf } from './options.mjs';

/** What each provider guarantees, every default filled in, with the page that says so. */
export function profilesTable(file, profiles, repetitionOf) {
  const docs = docsOf(file);
  return table(
    ['profile', 'key travels in', 'lifetime', 'not used', 'longest key', '409 says', 'source'],
    Object.entries(profiles).map(([name, profile]) => {
      const { key } = repetitionOf(profile);
      const carrier = 'header' in key.carrier ? `header \`${key.carrier.header}\`` : `body, at \`${key.carrier.body}\``;
      return [
        `\`${name}\``,
        carrier,
        span(key.lifetimeMs),
        span(key.marginMs),
        `${key.keyMaxBytes} bytes`,
        key.conflict === 'in-progress' ? 'still at work' : 'refused',
        docs.get(name),
      ];
    }),
  );
}

function docsOf(file) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2023, true);
  const found = new Map();
  const visit = (node) => {
    if (ts.isPropertyAssignment(node) && ts.isObjectLiteralExpression(node.initializer)) {
      const doc = docOf(node);
      if (doc !== '') found.set(node.name.getText(source), doc);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function span(ms) {
  if (ms === Number.POSITIVE_INFINITY) return 'for ever';
  for (const [unit, size] of [
    ['days', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ]) {
    if (ms >= size && ms % size === 0) return `${ms / size} ${unit}`;
  }
  return `${ms} ms`;
}
