import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  afterThisTest,
  type Child,
  createDatabase,
  eventually,
  needPgbouncer,
  startGateway,
  startPgbouncer,
  temporaryFolder,
  withClient,
} from '@comanda/test-support';
import { decideStandalone } from 'comanda';
import { pgStandalone } from 'comanda/adapters/pg';
import { describe, expect, test } from 'vitest';
import { type CliOptions, comanda, comandaStays, on } from '../cli.js';

const CONFIG = fileURLToPath(new URL('../fixtures/relay-config.mjs', import.meta.url));
const HOLDS = { AI_ACTIONS_ENABLED: undefined };

interface Log {
  readonly level: string;
  readonly event: string;
  readonly message: string;
}

const decide = (url: string, key: string, payload: object, more: object = {}) =>
  withClient(url, (client) =>
    decideStandalone(pgStandalone(client), {
      key,
      actor: { type: 'human', id: 'ana' },
      effects: [{ kind: 'note', payload }],
      ...more,
    }),
  );

const states = async (url: string): Promise<readonly string[]> =>
  (
    await withClient(url, (client) =>
      client.query<{ state: string }>('select state from comanda.effect_state order by effect_id'),
    )
  ).rows.map(({ state }) => state);

async function start(url: string, args: readonly string[] = [], options: CliOptions = {}): Promise<Child> {
  const child = comandaStays(['relay', '--config', CONFIG, '--json', '--database-url', url, ...args], options);
  await child.line((line) => line['event'] === 'started', 30_000);
  return child;
}

const logged = (child: Child, fits: (line: Log) => boolean) =>
  child.line<Log>((line) => fits(line as unknown as Log), 30_000);

function config(content: string, name = 'comanda.json'): string {
  const path = join(temporaryFolder('config'), name);
  writeFileSync(path, content);
  return path;
}

describe('a relay', () => {
  test('executes what is decided, listens, and ends with 0 on SIGTERM', async () => {
    const { url } = await createDatabase();
    const child = await start(url);
    await logged(child, ({ event, message }) => event === 'listen' && message === 'listens for new work');
    await decide(url, 'a', {});
    await logged(
      child,
      ({ event, message }) => event === 'attempt' && message.startsWith('note effect 1 attempt 1: completed'),
    );
    await eventually(async () => (await states(url))[0] === 'completed', { what: 'the effect' });
    expect((await on(url)('status', '--json')).json()).toMatchObject({ relays: [{ live: true, kinds: ['note'] }] });
    expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect((await on(url)('status', '--json')).json()).toMatchObject({ relays: [] });
    const names = await withClient(url, (client) =>
      client.query('select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'),
    );
    expect(names.rowCount).toBe(0);
  });

  test('its connections carry its name and the statement timeout', async () => {
    const { url } = await createDatabase();
    const child = await start(url, ['--statement-timeout', '7s', '--poll-only']);
    const seen = await withClient(url, (client) =>
      client.query<{ application_name: string }>(
        `select distinct application_name from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      ),
    );
    expect(seen.rows).toEqual([{ application_name: 'comanda-relay' }]);
    expect(child.output()).not.toMatch(/listen|The pooler/);
    expect(child.output()).toContain('pooler: none');
    await child.kill('SIGTERM');
  });

  test('lets what runs end after the first signal, and says what it waits for', async () => {
    const { url } = await createDatabase();
    const file = join(temporaryFolder('book'), 'book');
    await decide(url, 'a', { ms: 700, file });
    const child = await start(url);
    await eventually(() => readFileSync(file, 'utf8') !== '', { what: 'the start of the effect' });
    expect(await child.kill('SIGINT')).toEqual({ code: 0, signal: null });
    expect(await states(url)).toEqual(['completed']);
    expect(child.output()).toContain('SIGINT: stops when what is running has ended');
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a second %s ends it at once with %d', async (signal, code) => {
    const { url } = await createDatabase();
    const file = join(temporaryFolder('book'), 'book');
    await decide(url, 'a', { ms: 60_000, file });
    const child = await start(url, ['--grace', '1h']);
    await eventually(() => readFileSync(file, 'utf8') !== '', { what: 'the start of the effect' });
    process.kill(child.pid, signal);
    await logged(child, ({ message }) => message.includes('stops when'));
    expect(await child.kill(signal)).toEqual({ code, signal: null });
  });

  test('gives up on what does not end within the grace, and gives it back', async () => {
    const { url } = await createDatabase();
    const file = join(temporaryFolder('book'), 'book');
    await decide(url, 'a', { ms: 60_000, file });
    const child = await start(url, ['--grace', '100ms']);
    await eventually(() => readFileSync(file, 'utf8') !== '', { what: 'the start of the effect' });
    expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await states(url)).toEqual(['pending']);
  });

  test('an error that a handler lets loose is logged; the relay stops in order with exit code 1', async () => {
    const { url } = await createDatabase();
    await decide(url, 'a', { stray: true });
    const child = await start(url);
    expect((await logged(child, ({ level }) => level === 'error')).message).toContain(
      'an error that nothing caught: let loose',
    );
    expect(await child.exited).toEqual({ code: 1, signal: null });
    expect(await states(url)).toEqual(['completed']);
  });

  test('short lines for people', async () => {
    const { url } = await createDatabase();
    const child = comandaStays(['relay', '--config', CONFIG, '--database-url', url], { env: HOLDS });
    await eventually(() => child.output().includes('works on note'), { what: 'the start', withinMs: 30_000 });
    await child.kill('SIGTERM');
    for (const line of child.output().split('\n')) expect(line).toMatch(/^\d\d:\d\d:\d\d \S/);
  });
});

describe('AI_ACTIONS_ENABLED', () => {
  const agent = { actor: { type: 'agent', id: 'bot' } };

  test.each([undefined, 'TRUE', '1', 'yes'])('%s holds what agents decide, and says so', async (value) => {
    const { url } = await createDatabase();
    await decide(url, 'by-agent', {}, agent);
    await decide(url, 'by-human', {});
    const child = await start(url, [], { env: { AI_ACTIONS_ENABLED: value } });
    expect((await logged(child, ({ message }) => message.includes('AI_ACTIONS_ENABLED'))).message).toMatch(
      /is (not set|neither true nor false): effects decided by agents are held$/,
    );
    await eventually(async () => (await states(url))[1] === 'completed', { what: 'the effect of a human' });
    expect(await states(url)).toEqual(['pending', 'completed']);
    await child.kill('SIGTERM');
  });

  test('true lets it go', async () => {
    const { url } = await createDatabase();
    await decide(url, 'by-agent', {}, agent);
    const child = await start(url, [], { env: { AI_ACTIONS_ENABLED: 'true' } });
    await eventually(async () => (await states(url))[0] === 'completed', { what: 'the effect of the agent' });
    await child.kill('SIGTERM');
  });
});

describe('the configuration', () => {
  test('in JSON executes HTTP effects, with secrets from the environment', async () => {
    const { url } = await createDatabase();
    const gateway = await startGateway();
    const file = config(
      JSON.stringify({
        effects: [
          {
            kind: 'note',
            url: `${gateway.url}/notes`,
            headers: { authorization: 'Bearer $' + '{env:NOTE_KEY}' },
            risk: 'reversible',
            idempotency: 'key',
            allowPrivateAddresses: true,
          },
        ],
      }),
    );
    const args = ['relay', '--config', file, '--json', '--database-url', url];
    const missing = await comanda(args);
    expect([missing.code, missing.err]).toEqual([
      2,
      expect.stringContaining('names the variable NOTE_KEY, which is not set'),
    ]);
    await decide(url, 'a', { text: 'x' });
    const child = comandaStays(args, { env: { NOTE_KEY: 's3cret-key' } });
    await eventually(() => gateway.entries('accepted').length === 1, { what: 'the request', withinMs: 30_000 });
    await child.kill('SIGTERM');
    expect(child.output()).not.toContain('s3cret-key');
  });

  test('S06: a value from the environment is in no row, no line and no error, whatever a server does with it', async () => {
    const secret = 'sk_live_51H"x/y+z';
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
    const echo = createServer((request, response) => {
      const key = String(request.headers['x-key']);
      response
        .writeHead(request.url === '/refused' ? 400 : 200)
        .end(JSON.stringify({ id: key, text: `${key} ${encodeURIComponent(key)}` }));
    });
    await new Promise<void>((ready) => echo.listen(0, '127.0.0.1', ready));
    afterThisTest(() => void echo.close());
    const { port } = echo.address() as AddressInfo;
    const spec = {
      kind: 'note',
      url: `http://127.0.0.1:${port}/{/path}`,
      headers: { 'x-key': '$' + '{env:NOTE_KEY}' },
      risk: 'reversible',
      idempotency: 'key',
      providerId: '/id',
      allowPrivateAddresses: ['127.0.0.1'],
    };
    const { url } = await createDatabase();
    for (const path of ['done', 'refused']) await decide(url, path, { path });
    await decide(url, 'unfit', {});
    const args = ['relay', '--config', config(JSON.stringify([spec])), '--verbose', '--database-url', url];
    const child = comandaStays(args, { env: { NOTE_KEY: secret } });
    const wanted = 'completed,failed,failed';
    await eventually(async () => String(await states(url)) === wanted, { what: wanted, withinMs: 30_000 });
    await child.kill('SIGTERM');
    const rows = await withClient(url, async (client) => {
      const tables = await client.query<{ name: string }>(
        `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'comanda'`,
      );
      const texts: unknown[] = [];
      for (const { name } of tables.rows) texts.push((await client.query(`select t::text as t from ${name} t`)).rows);
      return JSON.stringify(texts);
    });
    const seen = rows + child.output() + (await on(url)('explain', 'refused')).out;
    expect(rows).toContain('[redacted]');
    expect(rows).toContain('the payload has no value at /path; nothing was sent');
    for (const form of forms) expect(seen).not.toContain(form);
  });

  test('everything wrong in a file is said at once', async () => {
    const { url } = await createDatabase();
    const one = { kind: 'a', url: 'https://x.example/{id}', risk: 'reversible', idempotency: 'key' };
    const two = { kind: 'b', url: 'https://{/host}/', risk: 'reversibel', idempotency: 'key' };
    const file = config(JSON.stringify({ effects: [one, two] }));
    const { code, err } = await comanda(['relay', '--database-url', url, '--config', file]);
    expect(code).toBe(2);
    expect(err).toContain("HTTP effect 'a': 'url' has {id}, which is no placeholder");
    expect(err).toContain("HTTP effect 'b': 'risk' is 'reversibel', must be one of 'reversible', 'irreversible'");
    expect(err).toContain("'url' has {/host} before its path");
  });

  test('limits of a target that no effect has are refused with exit code 2, and nothing was executed', async () => {
    const { url } = await createDatabase();
    const effect = { kind: 'k', url: 'https://example.com/x', risk: 'reversible', idempotency: 'key' };
    const file = config(JSON.stringify({ effects: [effect], targets: { payments: { concurrency: 1 } } }));
    const { code, err } = await comanda(['relay', '--database-url', url, '--config', file]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('targets.payments: no effect has this target; there is k'),
    ]);
  });

  test.each([
    ['no such file', undefined, /cannot be loaded/],
    ['a wrong ending', config('{}', 'x.yaml'), /must end in \.mjs, \.js or \.json/],
    ['a mistake in JSON', config('{\n"effects": [ { "key": "s3cret" \n ]}'), /is not valid JSON, line \d/],
    ['no effects', config('{"effects":[]}'), /lists no effects/],
    ['another property', config('{"efects":[]}'), /unknown property efects\. Did you mean effects\?/],
    ['a mistake in an effect', config('{"effects":[{"kind":"k","urll":"x"}]}'), /COMANDA_INVALID_CONFIG/],
    ['no default export', config('export const effects = [];', 'x.mjs'), /has no default export/],
    ['no effect kind', config('export default [{ kind: "k" }];', 'x.mjs'), /effects\[0\] is no effect kind/],
    ['an error of its own', config('throw new Error("boom")', 'x.mjs'), /cannot be loaded: boom/],
  ])('%s is refused with exit code 2', async (_, file, message) => {
    const { url } = await createDatabase();
    const { code, out, err } = await comanda(['relay', '--database-url', url, '--config', file ?? '/nowhere/x.json']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(message);
    expect(err).not.toContain('s3cret');
  });

  test('a kind that could never be reconciled is refused before anything is claimed', async () => {
    const { url } = await createDatabase();
    const file = config(
      '{"effects":[{"kind":"k","url":"https://example.com/x","risk":"irreversible","idempotency":"none"}]}',
    );
    const { code, err } = await comanda(['relay', '--database-url', url, '--config', file]);
    expect([code, err]).toEqual([2, expect.stringMatching(/COMANDA_(UNSAFE_EFFECT|INVALID_CONFIG)/)]);
  });
});

test('behind a pooler it warns once about the timeout that is not in force, works, and listens past it', async (context) => {
  needPgbouncer(context);
  const { url } = await createDatabase();
  const pooler = await startPgbouncer({ url });
  const child = await start(pooler.through(url), ['--direct-url', url]);
  await logged(child, ({ event, message }) => event === 'listen' && message === 'listens for new work');
  await decide(url, 'a', {});
  await eventually(async () => (await states(url))[0] === 'completed', { what: 'the effect' });
  await child.kill('SIGTERM');
  expect(child.output().match(/statement_timeout as a start-up parameter/g)).toHaveLength(1);
  expect(child.output()).toContain('pooler: transaction; wake-ups come past it');
});

test.each([
  ['transaction', 'pooler: transaction; wake-ups cannot pass it, so the relay polls.'],
  ['session', 'pooler: session'],
] as const)('N07: the log says which mode of pooler was found: %s', async (poolMode, line) => {
  const { url } = await createDatabase();
  const pooler = await startPgbouncer({ url, poolMode, poolSize: 20 });
  const child = await start(pooler.through(url));
  await logged(child, ({ message }) => message.startsWith(line));
  await decide(url, 'a', {});
  await eventually(async () => (await states(url))[0] === 'completed', { what: 'the effect' });
  await child.kill('SIGTERM');
});
