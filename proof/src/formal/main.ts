import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { programPath } from '@comanda/test-support';
import { check, type Found } from './checker.js';
import { CONFIGURATIONS } from './configurations.js';
import { summary, tables } from './report.js';

const USAGE = `npm run model-check -- [--quick] [--only NAME,...] [--json] [--write]

  --quick   the small exhaustive configurations and all mutants: what CI runs
  --only    the named configurations
  --json    one line for machines instead of the tables
  --write   writes the tables into docs/explanation/formal-model.md (the full set only)
`;
const PARALLEL = 2;
const MODEL = fileURLToPath(new URL('../../formal/', import.meta.url));
const PAGE = fileURLToPath(new URL('../../../docs/explanation/formal-model.md', import.meta.url));
const BETWEEN = /(<!-- model-check -->\n)[\s\S]*?(<!-- \/model-check -->)/;

const { values } = readOptions();
for (const tool of ['spin', 'gcc']) {
  if (programPath(tool) === undefined) {
    process.stderr.write(`${tool} is not installed. On Debian and Ubuntu: apt-get install spin gcc libc6-dev\n`);
    process.exit(2);
  }
}
const only = values.only?.split(',');
const unknown = only?.filter((name) => !CONFIGURATIONS.some((one) => one.name === name)) ?? [];
if (unknown.length > 0) {
  const names = CONFIGURATIONS.map(({ name }) => name).join(', ');
  process.stderr.write(`no configuration ${unknown.join(', ')}; there is ${names}\n`);
  process.exit(2);
}
if (values.write && (values.quick || only !== undefined)) {
  process.stderr.write('--write needs the full set: leave out --quick and --only\n');
  process.exit(2);
}

const began = performance.now();
const wanted = CONFIGURATIONS.filter(({ name, quick }) => only?.includes(name) ?? (quick || !values.quick));
const found = await checkAll();
const ok = found.length === wanted.length && found.every((one) => one.ok);

for (const one of found.filter((each) => !each.ok)) {
  process.stderr.write(`\n${one.configuration.name}: ${one.verdict}\n`);
  process.stderr.write(`  spin ${one.configuration.flags.join(' ')}\n`);
  for (const line of one.trace) process.stderr.write(`  ${line}\n`);
}
const seconds = (performance.now() - began) / 1_000;
process.stdout.write(values.json ? `${JSON.stringify(summary(found, seconds))}\n` : `${tables(found, true)}\n`);
if (values.write && ok) {
  const page = readFileSync(PAGE, 'utf8');
  writeFileSync(
    PAGE,
    page.replace(BETWEEN, (_, open: string, close: string) => `${open}${tables(found, false)}\n${close}`),
  );
}
process.exitCode ||= ok ? 0 : 1;

async function checkAll(): Promise<readonly Found[]> {
  const results = new Map<string, Found>();
  // The longest first, so that the two ends come close together.
  const waiting = [...wanted].sort((a, b) => Number(a.quick) - Number(b.quick));
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (let next = waiting.shift(); next !== undefined && process.exitCode === undefined; next = waiting.shift()) {
        const one = await check(MODEL, next);
        results.set(next.name, one);
        if (!values.json) process.stderr.write(`${one.ok ? 'ok  ' : 'FAIL'} ${next.name}: ${one.verdict}\n`);
      }
    }),
  );
  return wanted.flatMap(({ name }) => results.get(name) ?? []);
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
        only: { type: 'string' },
      },
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exit(2);
  }
}
