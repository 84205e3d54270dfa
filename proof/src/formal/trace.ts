import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The model prints numbers where spin cannot print words. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  mode: [
    '-',
    'keep',
    'next',
    'retry',
    'unsure',
    'unknown',
    'absent',
    'block (unknown)',
    'block (failed)',
    'block (off)',
  ],
  end: ['', 'and ends completed', 'and ends cancelled', 'and ends failed'],
  found: ['-', 'applied', 'absent', 'cannot tell'],
};
const WISHES: Readonly<Record<string, string>> = {
  10: 'a skip',
  20: 'a redrive',
  31: 'resolve as completed',
  33: 'resolve as failed',
  34: 'resolve as pending',
};

/** The execution that breaks a property, one event per line, as the model tells it. */
export function readTrace(told: string): readonly string[] {
  return told
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(a |an |the |route |relay |effect |keys |it |nothing |cancel )/.test(line))
    .map((line) =>
      line
        .replace(/<(\w+) (\d+)>/g, (_, name: string, index: string) =>
          name === 'wish' ? (WISHES[index] ?? '') : (WORDS[name]?.[Number(index)] ?? ''),
        )
        .replace(', suspect: 0', '')
        .replace('suspect: 1', 'as a suspect')
        .trimEnd(),
    );
}

/** Which property it is: the comment of the assertion that failed. */
export async function brokenProperty(told: string, output: string, folder: string): Promise<string> {
  const where = /spin: (\w+\.pml):(\d+), Error: assertion violated/.exec(told);
  if (where === null) return /(invalid end state|non-progress cycle)/.exec(output)?.[1] ?? 'an error without a name';
  const [, file = '', line = ''] = where;
  const source = (await readFile(join(folder, file), 'utf8')).split('\n')[Number(line) - 1] ?? '';
  return /\/\* (S\d[ab]?(?: S\d[ab]?)*)\b/.exec(source)?.[1] ?? `an assertion at ${file}:${line}`;
}
