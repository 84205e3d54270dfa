import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, spawnNode } from '@comanda/test-support';
import { afterAll, beforeAll, expect, it } from 'vitest';

const demo = new URL('../dist/main.js', import.meta.url);
const recount = fileURLToPath(new URL('../recount.mjs', import.meta.url));

let books: string;
beforeAll(() => {
  books = mkdtempSync(join(tmpdir(), 'comanda-books-'));
});
afterAll(() => rmSync(books, { recursive: true, force: true }));

function processesOf(parent: number): readonly number[] {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid=,stat='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return all
    .filter(([, ppid, stat]) => Number(ppid) === parent && stat?.startsWith('Z') !== true)
    .map(([pid]) => Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

it('balances although it kills, and anybody can count its books again', { timeout: 120_000 }, async () => {
  const run = spawnNode(demo, ['--json', '--seconds', '6', '--seed', '7', '--books', books]);
  const result = await run.line<Record<string, unknown>>((line) => 'balanced' in line, 90_000);
  expect(result).toMatchObject({
    balanced: true,
    problems: [],
    lost: 0,
    duplicated: 0,
    ghosts: 0,
    unattended: 0,
    reconciled: result['unknown'],
    decisions: result['orders'],
    acceptances: result['effects'],
  });
  expect(result['kills']).toBeGreaterThan(0);
  expect(run.lines).toHaveLength(1);
  expect(await run.exited).toMatchObject({ code: 0 });
  expect(execFileSync(process.execPath, [recount, books], { encoding: 'utf8' })).toContain('It balances.');

  // A refund that is taken out of the gateway's book is missed.
  const file = join(books, 'payments.book.jsonl');
  const lines = readFileSync(file, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.includes('"event":"accepted"'));
  writeFileSync(file, lines.toSpliced(at, 1).join('\n'));
  expect(() => execFileSync(process.execPath, [recount, books], { stdio: 'pipe' })).toThrow();
});

it.runIf(process.platform === 'linux')(
  'leaves no process behind when it is killed itself',
  { timeout: 90_000 },
  async () => {
    const run = spawnNode(demo, ['--seconds', '60', '--seed', '8']);
    await eventually(() => run.output().includes('kill -9'), { withinMs: 60_000, what: 'the first kill of the demo' });
    const children = processesOf(run.pid);
    expect(children.length).toBeGreaterThanOrEqual(7);
    const servers = children.flatMap(processesOf);
    await run.kill('SIGKILL');
    await eventually(() => [...children, ...servers].every((pid) => !isAlive(pid)), {
      withinMs: 15_000,
      what: 'the end of all its processes',
    });
  },
);

it.runIf(process.platform === 'linux')(
  'ends in order on Ctrl-C, and says what is wrong with its options',
  { timeout: 60_000 },
  async () => {
    const run = spawnNode(demo, ['--seconds', '60']);
    await eventually(() => run.output().includes('pending'), { withinMs: 40_000, what: 'the first line of the board' });
    const children = processesOf(run.pid);
    expect(await run.kill('SIGINT')).toMatchObject({ code: 130 });
    expect(children.filter(isAlive)).toEqual([]);

    const wrong = spawnNode(demo, ['--seconds', 'soon']);
    expect(await wrong.exited).toMatchObject({ code: 2 });
    expect(wrong.output()).toContain('--seconds is "soon"');
  },
);
