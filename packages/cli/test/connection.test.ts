import { createServer } from 'node:net';
import { createDatabase, needPgbouncer, startPgbouncer, withClient } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { comanda, on } from './cli.js';

/** Whatever the driver would read by itself, pointing to the wrong place. */
const MISLEADING = {
  PGHOST: '127.0.0.1',
  PGPORT: '1',
  PGUSER: 'nobody',
  PGPASSWORD: 'wrong',
  PGDATABASE: 'nowhere',
  PGOPTIONS: '-c statement_timeout=1 -c search_path=nowhere',
  PGSSLMODE: 'require',
  PGAPPNAME: 'misled',
  PGCONNECT_TIMEOUT: '1',
  DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/nowhere',
  COMANDA_DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/nowhere',
};

const everything: readonly (readonly string[])[] = [
  ['migrate'],
  ['relay', '--config', 'x.mjs'],
  ['status'],
  ['attention'],
  ['effects', 'list'],
  ['effects', 'show', '1'],
  ['effects', 'cancel', 'a', '--by', 'a', '--reason', 'b'],
  ['effects', 'skip', '1', '--by', 'a', '--reason', 'b'],
  ['effects', 'redrive', '1', '--by', 'a', '--reason', 'b'],
  ['effects', 'resolve', '1', '--as', 'failed', '--by', 'a', '--reason', 'b'],
  ['explain', 'a'],
  ['switch'],
  ['switch', 'stop', '--by', 'a', '--reason', 'b'],
];

describe('which database', () => {
  test.each(everything)('%s %s: not one that nobody named, whatever the shell says', async (...args) => {
    const { code, out, err } = await comanda(args, { env: MISLEADING });
    expect([code, out, err]).toEqual([2, '', expect.stringContaining('No database is named. Add --database-url URL')]);
  });

  test('variables of the shell change nothing about the one that was named', async () => {
    const { url, name } = await createDatabase();
    const { code, json } = await comanda(['status', '--json', '--database-url', url], { env: MISLEADING });
    expect([code, json()]).toMatchObject([0, { database: name }]);
  });

  test('a variable that is named, is used; the password stays out of every message', async () => {
    const { url, name } = await createDatabase();
    const { json } = await comanda(['status', '--json', '--database-url', 'env:SHOP'], { env: { SHOP: url } });
    expect(json()).toMatchObject({ database: name });
    const nowhere = 'postgresql://me:s3cret@127.0.0.1:1/shop';
    for (const args of [
      ['--database-url', nowhere],
      ['--database-url', 'env:SHOP'],
    ]) {
      const { code, out, err } = await comanda(['status', ...args], { env: { SHOP: nowhere } });
      expect([code, `${out}${err}`.includes('s3cret')]).toEqual([6, false]);
    }
  });

  test('the suggestions of a command name the same database, without secrets', async () => {
    const { url } = await createDatabase();
    await withClient(url, (client) => client.query(`select comanda.decide('{"key":"a","effects":[{"kind":"k"}]}')`));
    const { out } = await comanda(['explain', 'a', '--database-url', 'env:SHOP'], { env: { SHOP: url } });
    expect(out).toContain('comanda effects cancel a k --by YOU --reason WHY --database-url env:SHOP');
    expect((await on(url)('explain', 'a')).out).not.toContain('postgresql://');
  });
});

describe('exit codes', () => {
  test('6: nobody there, nobody answers, no such database, refused login', async () => {
    const { url } = await createDatabase({ template: false });
    const target = (change: (to: URL) => void): string => {
      const to = new URL(url);
      change(to);
      return to.href;
    };
    const closed = await new Promise<number>((resolve) => {
      const probe = createServer().listen(0, '127.0.0.1', () => {
        const address = probe.address();
        probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
      });
    });
    const urls = [
      target((to) => {
        to.port = String(closed);
      }),
      target((to) => {
        to.pathname = '/nowhere';
      }),
      target((to) => {
        to.username = 'nobody_of_that_name';
      }),
    ];
    for (const bad of urls) {
      for (const command of ['status', 'migrate']) {
        const { code, out, err } = await on(bad)(command);
        expect([code, out, err]).toEqual([
          6,
          '',
          expect.stringMatching(/^comanda: The database at .* cannot be reached: .*\(CLI_UNREACHABLE, /),
        ]);
      }
    }
  });

  test('7: no schema, or one of another version', async () => {
    const none = await createDatabase({ template: false });
    const missing = await on(none.url)('status');
    expect([missing.code, missing.err]).toEqual([7, expect.stringContaining('COMANDA_SCHEMA_MISSING')]);
    const newer = await createDatabase();
    await withClient(newer.url, (client) =>
      client.query('update comanda.installation set schema_version = 9999, compatible_from = 9999'),
    );
    for (const args of [['status'], ['explain', 'a'], ['switch']]) {
      const { code, err } = await on(newer.url)(...args);
      expect([code, err]).toEqual([7, expect.stringContaining('COMANDA_SCHEMA_VERSION')]);
    }
  });

  test('1: a login without the right is told which role it needs', async () => {
    const { url, name } = await createDatabase();
    const role = `reader_${name}`;
    await withClient(url, (client) => client.query(`create role "${role}" login in role comanda_reader`));
    const reader = new URL(url);
    reader.username = role;
    const run = on(reader.href);
    expect((await run('status')).code).toBe(0);
    expect((await run('attention')).code).toBe(0);
    expect((await run('effects', 'list')).code).toBe(0);
    const refused = await run('switch', 'stop', '--by', 'a', '--reason', 'b');
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringMatching(/may not do that: permission denied .*comanda_operator.*CLI_DENIED/),
    ]);
    await withClient(url, (client) => client.query(`drop role "${role}"`));
  });

  test.each<[readonly string[], RegExp]>([
    [['statu'], /Unknown command 'statu'\. Did you mean status\?/],
    [['status', '--jsn'], /Unknown option '--jsn'\. Did you mean --json\?/],
    [['status', 'more'], /Too many arguments/],
    [['explain'], /Missing required argument 'key'/],
    [['effects', 'list', '--limit', '0'], /A whole number from 1 to 10000 is expected/],
    [['effects', 'list', '--limit', '1e3'], /A whole number/],
    [['effects', 'list', '--state', 'done'], /Allowed choices are waiting, pending/],
    [['status', '--statement-timeout', '30 days'], /--statement-timeout is '30 days', expected milliseconds or a text/],
    [['relay', '--lease', '30d', '--config', 'x'], /--lease is '30d', allowed is 500ms to 1h/],
    [['relay'], /Required option '--config <file>' not specified/],
    [['switch', 'off'], /Allowed choices are show, run, hold, drain, stop/],
    [['bad\u001b[2Jword'], /Unknown command 'bad\\e\[2Jword'/],
  ])('2: %j', async (args, message) => {
    const { code, out, err } = await comanda(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(message);
    expect(err).toMatch(/^comanda: .* \(CLI_USAGE, docs\/reference\/cli\.md#exit-codes\)\n$/);
  });

  test('0 for help and version; 2 when no command is named', async () => {
    const help = await comanda(['--help']);
    expect([help.code, help.out]).toEqual([0, expect.stringContaining('Usage: comanda')]);
    expect((await comanda(['effects', 'list', '--help'])).code).toBe(0);
    const version = await comanda(['--version']);
    expect([version.code, version.out]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+/)]);
    expect((await comanda([])).code).toBe(2);
    expect((await comanda(['effects'])).code).toBe(2);
  });
});

describe('a pooler', () => {
  test('that refuses the statement timeout is used without it, and every command works', async (context) => {
    needPgbouncer(context);
    const { url } = await createDatabase();
    const pooler = await startPgbouncer({ url });
    const run = on(pooler.through(url));
    for (const args of [['status'], ['migrate'], ['effects', 'list'], ['switch']]) {
      const { code, err } = await run(...args);
      expect([code, err]).toEqual([0, '']);
    }
  });
});
