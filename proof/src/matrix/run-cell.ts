import { spawn } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { type Cell, testsOf } from './cells.js';
import { toolsOf } from './tools.js';

/** What came of a cell. */
export interface CellResult {
  readonly cell: Cell;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly seconds: number;
  /** All that the tests printed: their failures. */
  readonly output: string;
}

const COUNTS = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;

/** Runs the tests of a cell in a process of their own. Never rejects: tests that cannot be run count as a failure. */
export async function runCell(cell: Cell, root: string, quick: boolean, signal: AbortSignal): Promise<CellResult> {
  const began = performance.now();
  const { code, output } = await run(cell, root, quick, signal).catch((error: unknown) => ({
    code: 1,
    output: error instanceof Error ? error.message : String(error),
  }));
  const counts = COUNTS.exec(output.trimEnd().split('\n').at(-1) ?? '');
  const [passed, failed, skipped] = counts === null ? [0, 1, 0] : counts.slice(1).map(Number);
  return {
    cell,
    passed: passed ?? 0,
    failed: failed === 0 && code !== 0 ? 1 : (failed ?? 1),
    skipped: skipped ?? 0,
    seconds: Math.round((performance.now() - began) / 1_000),
    output,
  };
}

function run(
  cell: Cell,
  root: string,
  quick: boolean,
  signal: AbortSignal,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const { node, packages } = toolsOf(cell, root);
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(node, [vitest, 'run', ...testsOf(cell, quick)], {
    cwd: root,
    signal,
    killSignal: 'SIGTERM',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PATH: [dirname(node), process.env['PATH']].join(delimiter),
      NODE_PATH: packages,
      COMANDA_TEST_PG: cell.postgres,
      COMANDA_TEST_POOLER: cell.door === 'pooled' ? '1' : '0',
    },
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void printed.push(text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output: printed.join('') }));
  });
}
