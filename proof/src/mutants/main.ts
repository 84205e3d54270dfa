import { parseArgs } from 'node:util';
import { MUTATIONS } from './mutations.js';
import { copyTree, rootOf } from './tree.js';
import { build, runTests } from './trial.js';

const USAGE = `npm run mutants -- [--only NAME,...] [--json]

Takes one rule of the code away at a time, in a copy of the working tree, and sees to it that a test fails.
`;

/** What became of one mutation. */
interface Tried {
  readonly name: string;
  readonly about: string;
  readonly verdict: 'caught' | 'SURVIVED' | 'DOES NOT BUILD';
  /** The failing tests, or what the compiler says. */
  readonly by: readonly string[];
}

const { values } = readOptions();
const only = values.only?.split(',');
const wanted = MUTATIONS.filter(({ name }) => only?.includes(name) ?? true);
const unknown = only?.filter((name) => !MUTATIONS.some((one) => one.name === name)) ?? [];
if (unknown.length > 0)
  fail(`no mutation ${unknown.join(', ')}; there is ${MUTATIONS.map(({ name }) => name).join(', ')}`);

const tree = copyTree(rootOf(import.meta.dirname));
// Before anything is built: a list that no longer fits the code is found at once.
for (const mutation of wanted) tree.apply(mutation)();
await baseline();
const tried: Tried[] = [];
for (const mutation of wanted) {
  const restore = tree.apply(mutation);
  const problem = await build(tree.folder);
  const { name, about, tests } = mutation;
  if (problem === undefined) {
    const failing = (await runTests(tree.folder, tests)).filter(({ status }) => status === 'failed');
    const by = failing.map(({ file, title }) => `${title} (${file})`);
    tried.push({ name, about, verdict: by.length > 0 ? 'caught' : 'SURVIVED', by });
  } else tried.push({ name, about, verdict: 'DOES NOT BUILD', by: [problem] });
  restore();
  const last = tried.at(-1);
  if (!values.json)
    process.stdout.write(`${last?.verdict} ${name}: ${about}\n${last?.by.map((one) => `  ${one}\n`).join('')}`);
}
const bad = tried.filter(({ verdict }) => verdict !== 'caught');
if (values.json) {
  process.stdout.write(
    `${JSON.stringify({ mutations: tried.length, caught: tried.length - bad.length, failed: bad.map(({ name }) => name) })}\n`,
  );
} else process.stdout.write(`${tried.length - bad.length} of ${tried.length} caught\n`);
process.exitCode = bad.length > 0 ? 1 : 0;

/** A test that fails anyway catches nothing. */
async function baseline(): Promise<void> {
  const problem = await build(tree.folder);
  if (problem !== undefined) fail(`the copy does not build:\n${problem}`);
  const tests = wanted.flatMap((mutation) => mutation.tests);
  const results = await runTests(tree.folder, tests);
  for (const { file, title } of tests) {
    const status = results.find((result) => result.file === file && result.title === title)?.status ?? 'not found';
    if (status !== 'passed') fail(`without any mutation, "${title}" of ${file} is ${status}`);
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function readOptions() {
  try {
    return parseArgs({ options: { only: { type: 'string' }, json: { type: 'boolean', default: false } } });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}
