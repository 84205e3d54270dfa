import { createDatabase, queryable, type TestDatabase, withClient } from '@comanda/test-support';
import { migrate } from 'comanda/internal';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { comanda, on } from '../cli.js';

const empty = () => createDatabase({ template: false });
const ODD = `Mi "esquema" $1 -- 'x'`;

test('installs, and then has nothing to do', async () => {
  const { url } = await empty();
  const first = await on(url)('migrate', '--environment', 'staging');
  expect([first.code, first.out]).toEqual([
    0,
    expect.stringMatching(/^Schema comanda in .* is installed, version \d+\.\n {2}0001_foundation\n/),
  ]);
  expect(first.out).toContain('Environment: staging.');
  const second = await on(url)('migrate', '--json');
  expect([second.code, second.json()]).toEqual([
    0,
    {
      schema: 'comanda',
      from_version: expect.any(Number),
      to_version: expect.any(Number),
      applied: [],
      routines_written: false,
      missing_roles: [],
      environment: 'staging',
    },
  ]);
  expect((await on(url)('migrate')).out).toContain('there was nothing to do');
});

test('a first installation without the name of its environment is refused, and nothing is written', async () => {
  const { url } = await empty();
  const { code, err } = await on(url)('migrate');
  expect([code, err]).toEqual([2, expect.stringContaining('--environment NAME')]);
  expect((await on(url)('status')).code).toBe(7);
  expect((await comanda(['migrate', '--sql'])).code).toBe(2);
  const named = await comanda(['migrate', '--database-url', url], { env: { COMANDA_ENVIRONMENT: 'staging' } });
  expect(named.out).toContain('Environment: staging.');
});

test('an installation from before names were required asks for one, and takes it', async () => {
  const { url } = await empty();
  await withClient(url, (client) => migrate(queryable(client)));
  expect((await on(url)('migrate')).out).toContain('comanda migrate --environment production');
  expect((await on(url)('migrate', '--environment', 'production')).out).toContain('Environment: production.');
});

test('another name than the one that stands there is refused: a copy would act under it', async () => {
  const { url } = await createDatabase();
  const { code, err } = await on(url)('migrate', '--environment', 'staging');
  expect([code, err]).toEqual([expect.any(Number), expect.stringContaining('COMANDA_NOT_ADOPTED')]);
  expect(code).not.toBe(0);
  expect((await on(url)('status', '--json')).json()).toMatchObject({ environment: 'test', not_adopted: null });
});

test('five at once make one installation', async () => {
  const { url } = await empty();
  const results = await Promise.all(
    Array.from({ length: 5 }, () => on(url)('migrate', '--environment', 'test', '--json')),
  );
  expect(results.map(({ code }) => code)).toEqual(results.map(() => 0));
  expect(results.filter((result) => result.json<{ from_version: number }>().from_version === 0)).toHaveLength(1);
});

describe('a schema with an odd name', () => {
  let database: TestDatabase;
  const run = (...args: readonly string[]) => on(database.url)(...args, '--schema', ODD);
  beforeAll(async () => {
    database = await empty();
    await withClient(database.url, (client) => migrate(queryable(client), { schema: ODD }));
    await withClient(database.url, (client) =>
      client.query(`select * from "${ODD.replaceAll('"', '""')}".decide('{"key":"a","effects":[{"kind":"k"}]}')`),
    );
  });
  afterAll(() => database.drop());

  test.each<readonly string[]>([
    ['migrate'],
    ['status'],
    ['attention'],
    ['effects', 'list'],
    ['effects', 'show', 'a'],
    ['effects', 'cancel', 'a', '--by', 'a', '--reason', 'b'],
    ['switch', 'hold', 'kind:k', '--by', 'a', '--reason', 'b'],
  ])('%s %s works there', async (...args) => {
    expect((await run(...args)).code).toBe(0);
  });

  test('what is suggested leads to it again, and no other schema is touched', async () => {
    expect((await run('explain', 'a')).out).toContain(`--schema 'Mi "esquema" $1 -- '\\''x'\\'''`);
    expect((await on(database.url)('status')).code).toBe(7);
  });
});

test.each(['', 'pg_x', 'information_schema', 'x'.repeat(64)])(
  'the schema name %j is refused: exit code 2',
  async (schema) => {
    const { url } = await empty();
    for (const command of ['migrate', 'status']) {
      const { code, err } = await on(url)(command, '--schema', schema);
      expect([code, err]).toEqual([2, expect.stringContaining('COMANDA_INVALID_CONFIG')]);
    }
  },
);

describe('--sql', () => {
  test('prints what an administrator can run instead, without a database', async () => {
    const { code, out } = await comanda(['migrate', '--sql', '--environment', 'production', '--role-prefix', 'bazaar']);
    expect(code).toBe(0);
    expect(out).toMatch(/^-- Comanda, schema "comanda", from version 0 to \d+\./);
    const { url } = await empty();
    await withClient(url, (client) => client.query(out.replaceAll(/^\\.*$/gm, '')));
    expect((await on(url)('status', '--json')).json()).toMatchObject({ environment: 'production' });
    await withClient(url, (client) =>
      client.query('drop owned by bazaar_app, bazaar_relay, bazaar_approver, bazaar_operator, bazaar_reader'),
    );
  });

  test('begins at what is installed when a database is named', async () => {
    const { out } = await on((await createDatabase()).url)('migrate', '--sql');
    expect(out).not.toMatch(/^create schema/m);
    expect(out).not.toMatch(/create table comanda\.run /);
  });
});

test('a login that may not create roles is told which ones are missing', async () => {
  const { url, name } = await empty();
  const role = `owner_${name}`;
  await withClient(url, (client) =>
    client.query(`create role "${role}" login; grant create on database "${name}" to "${role}"`),
  );
  const own = new URL(url);
  own.username = role;
  const { code, out } = await on(own.href)('migrate', '--environment', 'test', '--role-prefix', `p_${name}`);
  expect(code).toBe(0);
  expect(out).toContain(`create role "p_${name}_app" nologin;`);
  await withClient(url, (client) => client.query(`drop owned by "${role}"; drop role "${role}"`));
});
