import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterThisTest, type Child, createDatabase, eventually, startTcpProxy } from '@comanda/test-support';
import { expect, test } from 'vitest';
import { comanda, comandaStays, on } from '../cli.js';

const CONFIG = fileURLToPath(new URL('../fixtures/relay-config.mjs', import.meta.url));

interface Relay {
  readonly child: Child;
  get(path: string, method?: string): Promise<{ status: number; body: string; type: string }>;
  reasons(): Promise<readonly string[]>;
}

async function start(url: string): Promise<Relay> {
  const args = ['relay', '--config', CONFIG, '--json', '--poll-only', '--health-port', '0', '--database-url', url];
  const child = comandaStays(args);
  const { port } = await child.line<{ port: number }>((line) => typeof line['port'] === 'number', 30_000);
  const get: Relay['get'] = async (path, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return {
      status: response.status,
      body: await response.text(),
      type: response.headers.get('content-type') ?? '',
    };
  };
  const reasons = async () => (JSON.parse((await get('/ready')).body) as { reasons: string[] }).reasons;
  await eventually(async () => (await get('/ready')).status === 200, {
    what: 'the relay to be ready',
    withinMs: 30_000,
  });
  return { child, get, reasons };
}

test('green while it works; four paths, two methods, nothing else', async () => {
  const { url } = await createDatabase();
  const { get, child } = await start(url);
  expect(await get('/live')).toMatchObject({ status: 200, body: 'alive\n' });
  const ready = await get('/ready');
  expect(ready).toMatchObject({ status: 200, type: expect.stringContaining('application/json') });
  expect(JSON.parse(ready.body)).toMatchObject({
    ok: true,
    state: 'running',
    reasons: [],
    sinceLastPollMs: expect.any(Number),
    sinceLastBeatMs: expect.any(Number),
    listening: false,
    holds: null,
    lanesRunning: 0,
    oldestDueAgeMs: 0,
  });
  expect((await get('/health')).status).toBe(200);
  const metrics = await get('/metrics');
  expect(metrics).toMatchObject({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
  expect(metrics.body).toMatch(/^comanda_relays_live 1$/m);
  for (const line of metrics.body.trimEnd().split('\n'))
    expect(line).toMatch(/^(# TYPE comanda_[a-z_]+ gauge|comanda_[a-z_]+(\{label="[^\n]*"\})? -?[\d.e+-]+)$/);
  expect(await get('/ready?x=1', 'HEAD')).toMatchObject({ status: 200, body: '' });
  expect(await get('/ready', 'POST')).toMatchObject({ status: 405 });
  expect(await get('/live', 'DELETE')).toMatchObject({ status: 405 });
  expect(await get('/nothing')).toMatchObject({ status: 404 });
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
});

test('red when the database no longer answers, although nothing is closed; green when it is back; alive all the time', async () => {
  const database = await createDatabase();
  const { hostname, port } = new URL(database.url);
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  const { get, reasons, child } = await start(proxy.through(database.url));
  proxy.stall();
  await eventually(async () => (await get('/ready')).status === 503, { what: 'red', withinMs: 30_000 });
  expect((await reasons()).join()).toMatch(/no (successful look at|heartbeat in) the database for 1\d s/);
  expect((await get('/live')).status).toBe(200);
  await proxy.heal();
  await eventually(async () => (await get('/ready')).status === 200, { what: 'green again', withinMs: 30_000 });
  await child.kill('SIGTERM');
});

test('red while it is switched off, and says so; alive', async () => {
  const { url } = await createDatabase();
  const { get, reasons, child } = await start(url);
  await on(url)('switch', 'stop', 'all', '--reason', 'test', '--by', 'ana');
  await eventually(async () => (await get('/ready')).status === 503, { what: 'red' });
  expect(await reasons()).toEqual(['it executes nothing: the switch is stop']);
  expect((await get('/live')).status).toBe(200);
  await on(url)('switch', 'run', 'all', '--reason', 'over', '--by', 'ana');
  await eventually(async () => (await get('/ready')).status === 200, { what: 'green again' });
  await child.kill('SIGTERM');
});

test('a port that is in use is named, and nothing is executed', async () => {
  const { url } = await createDatabase();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  afterThisTest(() => new Promise<void>((resolve) => void other.close(() => resolve())));
  const { port } = other.address() as AddressInfo;
  const { code, err } = await comanda([
    'relay',
    '--config',
    CONFIG,
    '--health-port',
    String(port),
    '--database-url',
    url,
  ]);
  expect([code, err]).toEqual([
    2,
    expect.stringContaining(`The health port ${port} on 127.0.0.1 cannot be opened: it is in use by another process.`),
  ]);
});
