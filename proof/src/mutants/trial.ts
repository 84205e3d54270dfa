import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnProgram } from '@comanda/test-support';

/** One named test, as the test runner tells it. */
export interface TestResult {
  readonly file: string;
  readonly title: string;
  readonly status: 'passed' | 'failed' | 'skipped' | string;
}

/** Builds the copy. @returns what the compiler says; undefined when it builds */
export async function build(folder: string): Promise<string | undefined> {
  for (const args of [
    ['scripts/build-sql.mjs'],
    ['node_modules/typescript/bin/tsc', '-b', 'packages/cli', 'test-support'],
  ]) {
    const child = spawnProgram(process.execPath, args, { cwd: folder, reap: false });
    const { code } = await child.exited;
    if (code !== 0) return child.output();
  }
  return undefined;
}

/** Runs the named tests in the copy. */
export async function runTests(
  folder: string,
  tests: readonly { readonly file: string; readonly title: string }[],
): Promise<readonly TestResult[]> {
  const report = join(folder, 'mutants-report.json');
  await rm(report, { force: true });
  const titles = tests.map(({ title }) => title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const files = [...new Set(tests.map(({ file }) => file))];
  const child = spawnProgram(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--project',
      'database',
      ...files,
      '-t',
      `(${titles})`,
      '--reporter=json',
      `--outputFile=${report}`,
    ],
    { cwd: folder, reap: false },
  );
  await child.exited;
  const text = await readFile(report, 'utf8').catch(() => {
    throw new Error(`the test run gave no report:\n${child.output()}`);
  });
  const parsed = JSON.parse(text) as {
    readonly testResults: readonly {
      readonly name: string;
      readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
    }[];
  };
  return parsed.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ title }) => tests.some((test) => test.title === title))
      .map(({ title, status }) => ({ file: name.slice(folder.length + 1), title, status })),
  );
}
