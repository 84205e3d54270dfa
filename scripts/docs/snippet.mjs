import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

const LANGUAGES = {
  '.ts': 'ts',
  '.mjs': 'js',
  '.sql': 'sql',
  '.json': 'json',
  '.service': 'ini',
  '.Dockerfile': 'dockerfile',
  '.yaml': 'yaml',
  '.txt': 'text',
};

/**
 * A file, or a region of it, as a fenced block. A region stands between `#region name` and `#endregion` in comments.
 * A line that ends in a comment `hidden` is what only the test needs, and is left out.
 */
export function snippet(docs, name) {
  const [file, region] = name.split('#');
  const language = LANGUAGES[extname(file)];
  if (language === undefined) throw new Error(`${name}: no language is known for this kind of file`);
  const lines = readFileSync(join(docs, file), 'utf8').split('\n');
  const wanted = region === undefined ? lines : regionOf(lines, region, name);
  const shown = wanted.filter((line) => !/(\/\/|--) (hidden|#(region|endregion)\b.*)$/.test(line));
  return `\`\`\`${language}\n${dedent(shown).join('\n').trim()}\n\`\`\``;
}

function regionOf(lines, region, name) {
  const start = lines.findIndex((line) => new RegExp(`#region ${region}$`).test(line));
  const end = lines.findIndex((line, i) => i > start && /#endregion\b/.test(line));
  if (start === -1 || end === -1) throw new Error(`${name}: the file has no such region`);
  return lines.slice(start + 1, end);
}

function dedent(lines) {
  const indents = lines.filter((line) => line.trim() !== '').map((line) => /^ */.exec(line)[0].length);
  const least = Math.min(...indents);
  return lines.map((line) => line.slice(least));
}
