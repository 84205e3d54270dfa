import { execFile } from 'node:child_process';
import { createDatabase, type TestDatabase, withClient } from '@comanda/test-support';
import pg from 'pg';
import { inject } from 'vitest';

/** A database made as `create database … template …` makes it. The original must have no connections. */
export async function templateCopy(original: TestDatabase): Promise<TestDatabase> {
  const copy = await createDatabase({ template: false });
  await withClient(inject('pgUrl'), async (admin) => {
    await admin.query(`drop database ${pg.escapeIdentifier(copy.name)}`);
    await admin.query(
      `create database ${pg.escapeIdentifier(copy.name)} template ${pg.escapeIdentifier(original.name)}`,
    );
  });
  return copy;
}

/** What a program printed; fails with its errors. */
export function output(program: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, [...args], { maxBuffer: 64 * 1024 * 1024 }, (error, out, err) =>
      error === null
        ? resolve(out)
        : reject(new Error(`${program} ${args.join(' ')} failed:\n${err}`, { cause: error })),
    );
    // A program that ends early leaves its input unread; why it ended is what counts.
    child.stdin?.on('error', () => {}).end(input);
  });
}
