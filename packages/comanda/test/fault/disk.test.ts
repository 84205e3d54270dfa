import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterThisTest, eventually, programPath, serverUser, temporaryFolder } from '@comanda/test-support';
import { describe, expect, it, type TestContext } from 'vitest';
import { inPgTransaction } from '../../src/adapters/pg/index.js';
import { decide } from '../../src/index.js';
import { decisionOf, judges, settled, verdict, worker } from './kit.js';
import { ownServer } from './own-server.js';

/** A file system of its own that is small enough to be filled. Ordinary users cannot mount one: the test is skipped then. */
function smallDisk(context: TestContext, megabytes: number): string {
  const folder = temporaryFolder('disk');
  try {
    run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  } catch {
    context.skip(
      'a small file system cannot be mounted here. To run this test: be root on Linux, with the right to mount',
    );
  }
  afterThisTest(() => run('umount', ['-l', folder]));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o755);
  return folder;
}

function run(program: string, args: readonly string[]): void {
  execFileSync(programPath(program) ?? program, [...args], { stdio: 'pipe' });
}

/** Fills the file system to its last byte. */
function fill(file: string): void {
  const handle = openSync(file, 'a');
  for (const bytes of [1 << 20, 4096, 1]) {
    try {
      for (;;) writeSync(handle, Buffer.alloc(bytes));
    } catch {
      // ENOSPC: smaller pieces still fit.
    }
  }
  closeSync(handle);
}

const wide = (key: string) => {
  const { effects, ...rest } = decisionOf(key);
  return { ...rest, effects: effects.map((effect) => ({ ...effect, payload: { ...effect.payload, note: noise() } })) };
};

/** Text that does not compress: rows that need new pages. */
const noise = () => Array.from({ length: 300 }, () => Math.random().toString(36)).join('');

describe('the disk of the database is full', () => {
  it('decisions are refused with the server’s own SQLSTATE and leave nothing; with space again all goes on by itself, nothing lost or doubled', async (context) => {
    const disk = smallDisk(context, 160);
    const server = await ownServer({
      dataDir: join(disk, 'data'),
      settings: { min_wal_size: '32MB', max_wal_size: '32MB', shared_buffers: '16MB', max_connections: '30' },
    });
    const books = await judges();
    for (const _ of [1, 2]) worker(server.url, books, { leaseMs: 1_500, timeoutMs: 700 });
    const pool = server.pool({ max: 3 });
    const place = (key: string) => inPgTransaction(pool, (tx) => decide(tx, wide(key)));
    for (let n = 0; n < 10; n += 1) await place(`before-${n}`);
    const ballast = join(disk, 'ballast');
    fill(ballast);
    // The tables' last pages and the space of the WAL hold a few more.
    const told: string[] = [];
    const keys: string[] = [];
    const refused = async (): Promise<boolean> => {
      const key = `full-${keys.length}`;
      keys.push(key);
      const error: unknown = await place(key).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error !== undefined) told.push(String((error as { code?: unknown }).code));
      return told.length >= 5;
    };
    await eventually(refused, { withinMs: 60_000, everyMs: 1, what: 'decisions being refused' });
    // 53100: a table could not grow. The others: the WAL could not, and the server restarts by itself.
    expect(told.filter((code) => !/^(53100|57P0[123]|ECONNRESET|ECONNREFUSED|08006|undefined)$/.test(code))).toEqual(
      [],
    );
    rmSync(ballast);
    // Without space for its WAL it may have ended; whoever supervises it starts it again.
    const answers = async () => {
      if (server.down) await server.start();
      return await server.ask('select 1');
    };
    await eventually(answers, { withinMs: 60_000, what: 'the server answering' });
    for (const key of keys) {
      const again = () => place(key);
      await eventually(again, { withinMs: 30_000, what: `the repeated decision ${key}` });
    }
    await eventually(() => settled(server.ask), { withinMs: 60_000, everyMs: 50, what: 'the rest' });
    expect(await verdict(server.ask, books)).toEqual([]);
    const [{ n } = { n: 0 }] = await server.ask<{ n: number }>('select count(*)::int as n from comanda.run');
    expect(n).toBe(10 + keys.length);
  }, 180_000);
});
