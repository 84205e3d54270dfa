// Writes docs/reference/cli.md from the definitions of the commands (build first).
//   node scripts/build-cli-docs.mjs            writes the file when its content changed
//   node scripts/build-cli-docs.mjs --check    exits 1 when the file on disk is not what would be written
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createProgram } from '../packages/cli/dist/program.js';
import { reference } from '../packages/cli/dist/reference.js';

const target = join(dirname(fileURLToPath(import.meta.url)), '../docs/reference/cli.md');
// Nothing of the context is used before a command is parsed.
const wanted = reference(createProgram({}));
const current = existsSync(target) ? readFileSync(target, 'utf8') : undefined;

if (process.argv.includes('--check')) {
  if (current !== wanted) {
    console.error('docs/reference/cli.md is not up to date: run "node scripts/build-cli-docs.mjs"');
    process.exit(1);
  }
} else if (current !== wanted) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, wanted);
}
