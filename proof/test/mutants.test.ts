import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { mutated } from '../src/mutants/mutation.js';
import { MUTATIONS } from '../src/mutants/mutations.js';
import { rootOf } from '../src/mutants/tree.js';

const root = rootOf(import.meta.dirname);
const read = (file: string): string => readFileSync(`${root}/${file}`, 'utf8');

test.each(MUTATIONS)('$name fits the code, and its tests exist', ({ name, edits, tests }) => {
  for (const file of new Set(edits.map((edit) => edit.file))) {
    const before = read(file);
    const after = mutated(
      before,
      edits.filter((edit) => edit.file === file),
      name,
    );
    expect(after).not.toBe(before);
  }
  for (const { file, title } of tests) expect(read(file)).toContain(`'${title}'`);
});
