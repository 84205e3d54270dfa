import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, createDatabase, eventually, spawnNode, temporaryFolder } from '@comanda/test-support';
import { expect, it } from 'vitest';

const LESSON = fileURLToPath(new URL('../../../../docs/snippets/first-refund/', import.meta.url));
const COMANDA = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const output = async (child: Child): Promise<string> => {
  const { code } = await child.exited;
  expect(code, child.output()).toBe(0);
  return child.output();
};

it('the first refund: the gateway hangs up without an answer, and refunds once', async () => {
  const database = await createDatabase();
  // Only the port differs from what the reader types: 4242 may be taken here.
  const folder = temporaryFolder('lesson');
  const port = String(await freePort());
  cpSync(LESSON, folder, { recursive: true });
  for (const name of ['gateway.mjs', 'effects.json']) {
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('4242', port));
  }

  const gateway = spawnNode(join(folder, 'gateway.mjs'), ['rude']);
  await eventually(() => gateway.output().includes('gateway on'), { what: 'the gateway listening' });
  const relay = spawnNode(COMANDA, [
    'relay',
    '--config',
    join(folder, 'effects.json'),
    '--database-url',
    database.url,
    '--environment',
    'test',
  ]);

  const env = { DATABASE_URL: database.url };
  expect(await output(spawnNode(join(LESSON, 'refund.mjs'), ['ORD-2041'], { env }))).toContain(
    'decided: refund:ORD-2041',
  );
  expect(await output(spawnNode(join(LESSON, 'refund.mjs'), ['ORD-2041'], { env }))).toContain('was decided before');

  const client = await database.connect();
  await eventually(
    async () => (await client.query(`select from comanda.outbox where status = 'done'`)).rowCount === 1,
    { what: 'the refund done' },
  );
  expect(gateway.output().match(/REFUNDED refund:ORD-2041\/issue_refund/g)).toHaveLength(1);
  expect(gateway.output()).toContain('seen before refund:ORD-2041/issue_refund');
  expect((await client.query('select * from orders')).rows).toEqual([{ id: 'ORD-2041', status: 'refunded' }]);

  const story = await output(spawnNode(COMANDA, ['explain', 'refund:ORD-2041', '--database-url', database.url]));
  expect(story).toContain('attempt 2 completed');
  expect(story).toContain('the parcel came back');
  expect(await relay.kill('SIGTERM')).toMatchObject({ code: 0 });
});
