import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { exercise, exerciseMail, naiveRefund, refund } from '../../../../docs/snippets/test-your-effects.js';

const path = (name: string): string => fileURLToPath(new URL(`../../../../docs/snippets/${name}`, import.meta.url));

/** A report as the manual shows it: keys that are new each time are shown as what they are. */
const shown = (text: string): string => text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]*/g, '<uuid>');

it('the naive handler of the manual gets the report that the manual shows, the repaired one an empty one', async () => {
  expect(shown((await exercise(naiveRefund)).toString())).toBe(
    readFileSync(path('test-your-effects.report.txt'), 'utf8').trim(),
  );
  expect((await exercise(refund)).problems).toEqual([]);
});

it('the look-up of the manual that takes an error for absent gets the report that the manual shows', async () => {
  expect((await exerciseMail()).toString()).toBe(readFileSync(path('test-your-effects.mail.txt'), 'utf8').trim());
});

it('the test of the manual in plain JavaScript runs under node --test', async () => {
  // What a test runner says to its children would make this one report to nobody.
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, ['--test', path('test-your-effects.mjs')], { env });
  expect(stdout).toMatch(/^. pass 1$/m);
  expect(stdout).toMatch(/^. fail 0$/m);
});
