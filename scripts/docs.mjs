// Puts into the manual what it takes from elsewhere: snippets that tests run, and tables made from the code.
// A page asks for it with <!-- include: snippets/file.ts#region --> or <!-- include: made/name -->; what stands between that
// line and <!-- /include --> is replaced.
//   npm run docs                       builds, then writes what changed
//   node scripts/docs.mjs --check      names the pages that are not up to date, and exits 1 (needs a build)
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFragments } from './docs/fragments.mjs';
import { snippet } from './docs/snippet.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const docs = join(root, 'docs');
const INCLUDE = /^([ \t]*)<!-- include: (\S+) -->\n[\s\S]*?^[ \t]*<!-- \/include -->$/gm;

const pages = [
  join(root, 'README.md'),
  ...readdirSync(docs, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort(),
];

const made = await makeFragments(root);

function included(name) {
  if (!name.startsWith('made/')) return snippet(docs, name);
  const text = made[name.slice('made/'.length)];
  if (text === undefined) throw new Error(`nothing makes ${name}; there is ${Object.keys(made).join(', ')}`);
  return text;
}

function render(page, text) {
  const shown = relative(root, page).split(sep).join('/');
  const opened = text.match(/<!-- include:/g)?.length ?? 0;
  let replaced = 0;
  const result = text.replace(INCLUDE, (_, indent, name) => {
    replaced += 1;
    const body = included(name).trimEnd();
    const lines = [`<!-- include: ${name} -->`, body, '<!-- /include -->'].join('\n').split('\n');
    return lines.map((line) => (line === '' ? '' : indent + line)).join('\n');
  });
  if (replaced !== opened) throw new Error(`${shown}: an include is not closed by <!-- /include -->`);
  return result;
}

const stale = [];
for (const page of pages) {
  const text = readFileSync(page, 'utf8');
  const wanted = render(page, text);
  if (wanted === text) continue;
  stale.push(relative(root, page));
  if (!process.argv.includes('--check')) writeFileSync(page, wanted);
}

if (process.argv.includes('--check') && stale.length > 0) {
  for (const page of stale) console.error(`${page} is not up to date: run "npm run docs"`);
  process.exit(1);
}
