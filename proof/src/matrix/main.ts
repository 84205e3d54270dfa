import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { pgbouncerAvailable } from '@comanda/test-support';
import { ALL, type Cell, nameOf, parseCell, QUICK } from './cells.js';
import { type CellResult, runCell } from './run-cell.js';
import { installFor } from './tools.js';

const USAGE = `npm run matrix -- [--quick] [--cells 18:direct:20,15:pooled:26]

Runs the library's tests on PostgreSQL 15 to 18, direct and through PgBouncer in transaction mode, on the oldest and the
newest supported Node. --quick: what fits into each change's checks. PgBouncer must be installed for pooled cells.`;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

function cellsOf(quick: boolean, cells: string | undefined): readonly Cell[] {
  if (cells !== undefined) return cells.split(',').map((text) => parseCell(text.trim()));
  return quick ? QUICK : ALL;
}

function rowOf({ cell, passed, failed, skipped, seconds }: CellResult): string {
  const columns = [cell.postgres.padStart(10), cell.door.padEnd(6), cell.node.padStart(4)];
  return [...columns, ...[passed, failed, skipped, seconds].map((n) => String(n).padStart(7))].join('  ');
}

async function run(cells: readonly Cell[], quick: boolean): Promise<boolean> {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  await installFor(cells, ROOT);
  console.log('PostgreSQL  door    Node   passed   failed  skipped  seconds');
  let good = true;
  for (const cell of cells) {
    if (cell.door === 'pooled' && !pgbouncerAvailable()) {
      console.log(`!!! ${nameOf(cell)} is left out: pgbouncer is not installed`);
      // A quick run takes what the machine has, loudly; what was asked for by name, or as a whole, has to run.
      if (!quick) good = false;
      continue;
    }
    const result = await runCell(cell, ROOT, quick, stop.signal);
    if (stop.signal.aborted) return false;
    console.log(rowOf(result));
    if (result.failed === 0 && result.passed > 0) continue;
    good = false;
    console.log(`\n${nameOf(cell)} FAILED\n${result.output}`);
  }
  return good;
}

try {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      cells: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) console.log(USAGE);
  else process.exitCode = (await run(cellsOf(values.quick, values.cells), values.quick)) ? 0 : 1;
} catch (error) {
  console.error(error instanceof TypeError ? `${error.message}\n\n${USAGE}` : error);
  process.exitCode = 2;
}
