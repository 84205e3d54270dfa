import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { pages } from '../architecture/pages.js';

const COMANDA = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));
const helps = new Map<string, string>();

function helpOf(command: string): string {
  const known = helps.get(command);
  if (known !== undefined) return known;
  const help = execFileSync(process.execPath, [COMANDA, ...command.split(' ').filter(Boolean), '--help'], {
    encoding: 'utf8',
  });
  helps.set(command, help);
  return help;
}

/** `comanda …` lines of shell blocks, continued lines joined, without what follows a pipe or a comment. */
function commandLines(text: string): string[] {
  return [...text.matchAll(/^[ \t]*```(?:sh|ini)\n([\s\S]*?)^[ \t]*```/gm)].flatMap(([, block = '']) =>
    block
      .replaceAll(/\\\n\s*/g, ' ')
      .split('\n')
      .filter((line) => !/\bnpm install\b/.test(line))
      .flatMap((line) => /(?:^|\s|\/)comanda (.*)$/.exec(line.replace(/\s(#|\||>|&&).*$/, ''))?.[1] ?? []),
  );
}

const GROUP = /^(effects|targets)$/;

test('every command line in the manual is one that the program knows', () => {
  const wrong = pages().flatMap(({ path, text }) =>
    commandLines(text).flatMap((line) => {
      const [first = '', second = ''] = line.split(/\s+/).filter((word) => !word.startsWith('-'));
      const command = GROUP.test(first) ? `${first} ${second}` : first;
      if (!helpOf('').includes(`\n  ${first} `)) return [`${path}: comanda ${line} (no such command)`];
      const unknown = (line.match(/(?<=\s|^)--[a-z-]+/g) ?? []).filter(
        (flag) => !new RegExp(`${flag}\\b(?!-)`).test(helpOf(command)),
      );
      return unknown.map((flag) => `${path}: comanda ${line} (no ${flag})`);
    }),
  );
  expect(wrong).toEqual([]);
});
