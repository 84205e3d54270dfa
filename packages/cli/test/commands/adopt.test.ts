import { fileURLToPath } from 'node:url';
import { createDatabase, eventually, withClient } from '@comanda/test-support';
import { decideStandalone } from 'comanda';
import { pgStandalone } from 'comanda/adapters/pg';
import { expect, test } from 'vitest';
import { comanda, comandaStays, on } from '../cli.js';

const CONFIG = fileURLToPath(new URL('../fixtures/relay-config.mjs', import.meta.url));
const WHO = ['--by', 'ada', '--reason', 'the old server is gone'];

async function copy(): Promise<string> {
  const { url } = await createDatabase({ adopted: false });
  await withClient(url, (client) =>
    decideStandalone(pgStandalone(client), {
      key: 'a',
      actor: { type: 'human', id: 'ana' },
      effects: [{ kind: 'note', payload: {} }],
    }),
  );
  return url;
}

test('a copy: status is red and says so, a relay holds, adopt shows both and asks, and then it works', async () => {
  const url = await copy();
  const run = on(url);
  const status = await run('status');
  expect([status.code, status.out]).toEqual([
    3,
    expect.stringMatching(/NOT ADOPTED .*a copy, or moved.*comanda adopt/),
  ]);
  expect((await run('status', '--json')).json()).toMatchObject({ not_adopted: expect.stringContaining('a copy') });
  expect((await run('attention')).out).toContain('not adopted');

  const relay = comandaStays(['relay', '--config', CONFIG, '--json', '--database-url', url]);
  const held = await relay.line<{ message: string; level: string }>((line) => line['event'] === 'held', 30_000);
  expect(held).toMatchObject({
    level: 'warning',
    message: expect.stringMatching(/holds: .*a copy, or moved.*comanda adopt/),
  });

  const asked = await run('adopt', ...WHO);
  expect([asked.code, asked.err]).toEqual([2, expect.stringContaining('--yes')]);
  expect(asked.out).toMatch(/database +\d+ -> \d+\n/);
  expect(asked.out).toContain('1 pending');
  expect((await run('status')).code).toBe(3);

  const done = await run('adopt', ...WHO, '--yes', '--json');
  expect([done.code, done.json()]).toEqual([
    0,
    expect.objectContaining({ environment: 'test', database_oid: expect.stringMatching(/^\d+$/) }),
  ]);
  await relay.line((line) => line['event'] === 'resumed', 30_000);
  await eventually(async () => (await run('status', '--json')).json<{ completed: number }>().completed === 1, {
    what: 'the effect',
    withinMs: 30_000,
  });
  expect((await run('status')).code).toBe(0);
  await relay.kill('SIGTERM');
});

test('who adopts and why is required; a bad name is refused before anything', async () => {
  const url = await copy();
  expect((await on(url)('adopt', '--by', 'ada')).code).toBe(2);
  expect((await on(url)('adopt', ...WHO, '--yes', '--environment', 'two words')).code).toBe(2);
  expect((await on(url)('status')).code).toBe(3);
});

test('a relay that is not told its environment does not start; one that is told another one holds', async () => {
  const { url } = await createDatabase();
  const untold = await comanda(['relay', '--config', CONFIG, '--database-url', url], {
    env: { COMANDA_ENVIRONMENT: undefined },
  });
  expect([untold.code, untold.err]).toEqual([2, expect.stringContaining('COMANDA_ENVIRONMENT')]);
  const other = comandaStays([
    'relay',
    '--config',
    CONFIG,
    '--json',
    '--database-url',
    url,
    '--environment',
    'staging',
  ]);
  const held = await other.line<{ message: string }>((line) => line['event'] === 'held', 30_000);
  expect(held.message).toContain('it belongs to the environment "test", and this relay is configured for "staging"');
  await other.kill('SIGTERM');
});
