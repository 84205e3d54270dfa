import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  afterThisTest,
  createDatabase,
  eventually,
  startTcpProxy,
  temporaryFolder,
  withClient,
} from '@comanda/test-support';
import { expect, test } from 'vitest';
import { comandaStays } from '../cli.js';

const CONFIG = fileURLToPath(new URL('../fixtures/relay-config.mjs', import.meta.url));

interface Line {
  readonly level: string;
  readonly event: string;
  readonly code?: string;
}

const decide = (url: string, decision: object) =>
  withClient(url, (client) => client.query('select comanda.decide($1::text::jsonb)', [JSON.stringify(decision)]));

test('every attempt carries by what it is found again', async () => {
  const { url } = await createDatabase();
  const child = comandaStays(['relay', '--config', CONFIG, '--json', '--database-url', url]);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await decide(url, { key: 'refund:ORD-2041', effects: [{ kind: 'note', payload: {}, headers: { traceparent } }] });
  const line = await child.line((one) => one['event'] === 'attempt', 30_000);
  expect(line).toMatchObject({
    at: expect.stringMatching(/^\d{4}-.*Z$/),
    level: 'info',
    decisionKey: 'refund:ORD-2041',
    idempotencyKey: 'refund:ORD-2041/note',
    effectId: '1',
    kind: 'note',
    target: 'note',
    attempt: 1,
    fence: expect.stringMatching(/^\d+$/),
    relayId: expect.stringMatching(/^relay-/),
    traceId: '0af7651916cd43dd8448eb211c80319c',
    outcome: 'completed',
  });
  await child.kill('SIGTERM');
});

test('an outage is said once, and its end, however long it lasts', async () => {
  const database = await createDatabase();
  const { hostname, port } = new URL(database.url);
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  const args = ['relay', '--config', CONFIG, '--json', '--database-url', proxy.through(database.url)];
  const child = comandaStays(args);
  await child.line((line) => line['event'] === 'started', 30_000);
  await proxy.refuse();
  proxy.cut();
  await child.line((line) => line['code'] === 'poll_failed', 30_000);
  const until = performance.now() + 6_000;
  await eventually(() => performance.now() > until, { what: 'an outage of six seconds', withinMs: 10_000 });
  await proxy.heal();
  await child.line((line) => line['event'] === 'recovered' && line['code'] === 'poll_failed', 30_000);
  const warnings = (child.lines as readonly Line[]).filter(({ level }) => level === 'warning');
  for (const code of ['poll_failed', 'heartbeat_failed', 'sweep_failed'])
    expect(warnings.filter((line) => line.code === code).length, code).toBeLessThanOrEqual(1);
  expect(warnings.length).toBeLessThan(12);
  await child.kill('SIGTERM');
});

test('status --watch goes on while the database is away', async () => {
  const database = await createDatabase();
  const { hostname, port } = new URL(database.url);
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  const args = ['status', '--watch', '--every', '200ms', '--json', '--database-url', proxy.through(database.url)];
  const child = comandaStays(args);
  await child.line((line) => 'now' in line, 30_000);
  await proxy.refuse();
  proxy.cut();
  await child.line(({ unreachable }) => String(unreachable).includes('cannot be reached'), 30_000);
  const seen = child.lines.length;
  await proxy.heal();
  await eventually(() => child.lines.slice(seen).some((line) => 'now' in (line as object)), {
    what: 'the next look',
    withinMs: 30_000,
  });
  expect(await child.kill('SIGINT')).toEqual({ code: 0, signal: null });
});

test('no secret stands in any line, whatever provider and configuration do', async () => {
  const { url } = await createDatabase();
  // Repeats everything it was told, in its status line, its headers and its body.
  const provider = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const told = `${request.headers.authorization} ${request.headers['x-api-key']} ${body}`;
      response.writeHead(400, told.replace(/[^\x20-\x7e]/g, ' '), { 'x-told': encodeURIComponent(told) });
      response.end(JSON.stringify({ error: told }));
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  afterThisTest(() => new Promise<void>((resolve) => void provider.close(() => resolve())));
  const file = join(temporaryFolder('config'), 'comanda.json');
  const effect = {
    kind: 'note',
    url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`,
    headers: { authorization: 'Bearer $' + '{env:NOTE_KEY}', 'x-api-key': '$' + '{env:PLAIN}' },
    risk: 'reversible',
    idempotency: 'key',
    redact: ['customer.email'],
    allowPrivateAddresses: true,
  };
  writeFileSync(file, JSON.stringify({ effects: [effect] }));
  const withPassword = new URL(url);
  withPassword.password = 'db-s3cret-word';
  const child = comandaStays(
    ['relay', '--config', file, '--json', '--log-level', 'debug', '--database-url', withPassword.href],
    { env: { NOTE_KEY: 'note-s3cret-key', PLAIN: 'plain-s3cret' } },
  );
  await decide(url, {
    key: 'a',
    effects: [{ kind: 'note', payload: { customer: { email: 'ana-s3cret@example.com' } } }],
  });
  await child.line((line) => line['event'] === 'attempt' && line['outcome'] === 'failed', 30_000);
  await child.kill('SIGTERM');
  expect(child.output()).not.toContain('s3cret');
  expect(child.output()).toContain('http_400');
});
