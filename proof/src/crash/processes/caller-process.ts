/*
 * An application: performs each act that it is told (JSON lines `{"act": Act, "id"}`) in one transaction on one connection, and says
 * `{"done": id, "row"}` with the first row of its last statement once it has committed, or `{"refused": id, "error"}` with the SQLSTATE.
 */
import { createInterface } from 'node:readline';
import pg from 'pg';
import type { Act } from './configuration.js';

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

async function perform({ database, statements }: Act): Promise<unknown> {
  const client = new pg.Client({ connectionString: database });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('begin');
    let row: unknown;
    for (const { sql, request } of statements)
      row = (await client.query(sql, request === undefined ? [] : [JSON.stringify(request)])).rows[0];
    await client.query('commit');
    return row;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    await client.end();
  }
}

say({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  const { act, id } = JSON.parse(line) as { readonly act: Act; readonly id: string };
  await perform(act).then(
    (row) => say({ done: id, row }),
    (error: unknown) => say({ refused: id, error: (error as { code?: string }).code ?? String(error) }),
  );
}
process.exit(0);
