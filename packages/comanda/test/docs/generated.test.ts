import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

test('snippets and tables in the manual are those of the code', () => {
  // Its error names the pages that are not up to date.
  expect(() =>
    execFileSync(process.execPath, ['scripts/docs.mjs', '--check'], { cwd: root, stdio: 'pipe' }),
  ).not.toThrow();
});
