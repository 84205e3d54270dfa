import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createProgram } from '../src/program.js';
import { reference } from '../src/reference.js';
import { createTerminal } from '../src/terminal.js';

const nowhere = { write: () => true };
const program = createProgram({
  terminal: createTerminal(nowhere, nowhere, {}),
  env: {},
  at: () => undefined,
  done: () => undefined,
});

test('docs/reference/cli.md is what the definitions say (node scripts/build-cli-docs.mjs)', () => {
  const page = new URL('../../../docs/reference/cli.md', import.meta.url);
  expect(readFileSync(page, 'utf8')).toBe(reference(program));
});
