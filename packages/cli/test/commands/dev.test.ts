import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, temporaryFolder, withClient } from '@comanda/test-support';
import { expect, test } from 'vitest';
import { comanda, comandaStays } from '../cli.js';

const CONFIG = fileURLToPath(new URL('../fixtures/relay-config.mjs', import.meta.url));

const urlIn = (text: string): string | undefined => /postgresql:\/\/\S+/.exec(text)?.[0];

test('a PostgreSQL with the schema, for this folder: other commands find it, and the data stays', async () => {
  const cwd = temporaryFolder('project');
  const dataDir = join(cwd, 'data');
  const here = ['--dev', '--data-dir', dataDir];
  const none = await comanda(['status', ...here], { cwd });
  expect([none.code, none.err]).toEqual([6, expect.stringContaining(`comanda dev --data-dir ${dataDir}`)]);

  const first = comandaStays(['dev', '--data-dir', dataDir], { cwd });
  const url = await eventually(() => first.output().includes('Ctrl-C stops it.') && urlIn(first.output()), {
    what: 'the server',
    withinMs: 50_000,
  });
  expect(first.output()).toContain(`comanda status --dev --data-dir ${dataDir}`);
  await withClient(url, (client) => client.query(`select comanda.decide('{"key":"a","effects":[{"kind":"note"}]}')`));
  expect((await comanda(['status', '--json', ...here], { cwd })).json()).toMatchObject({
    pending: 1,
    environment: 'dev',
  });
  expect((await comanda(['explain', 'a', ...here], { cwd })).out).toContain(`--dev --data-dir ${dataDir}`);
  const second = await comanda(['dev', '--data-dir', dataDir], { cwd });
  expect([second.code, second.err]).toEqual([1, expect.stringContaining('already running')]);
  expect(await first.kill('SIGINT', 30_000)).toEqual({ code: 0, signal: null });
  expect(first.output()).toContain('Stopped. The data stays.');

  const again = comandaStays(['dev', '--data-dir', dataDir, '--relay', '--config', CONFIG], { cwd });
  await eventually(() => again.output().includes('note effect 1 attempt 1: completed'), {
    what: 'the effect, executed by the relay',
    withinMs: 50_000,
  });
  expect(await again.kill('SIGTERM', 30_000)).toEqual({ code: 0, signal: null });
});

test('--relay and --config belong together', async () => {
  for (const args of [['--relay'], ['--config', CONFIG]]) {
    const { code, err } = await comanda(['dev', ...args]);
    expect([code, err]).toEqual([2, expect.stringContaining('belong together')]);
  }
});
