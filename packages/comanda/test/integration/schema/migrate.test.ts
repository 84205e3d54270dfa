import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { needService, programPath, queryable } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { migrate, migrationScript } from '../../../src/schema/migrate.js';
import { SCHEMA_VERSION } from '../../../src/schema/version.js';
import { engine, engineOn } from '../../sql/kit/engine.js';
import { printCatalog, readCatalog } from './catalog.js';
import { wholeCycle } from './cycle.js';
import { empty, failure, migrated } from './installations.js';

describe('G01: many migrate an empty database at once', () => {
  test.each([
    ['read committed', 3],
    ['repeatable read', 1],
    ['serializable', 1],
  ])('20 connections whose default is %s', async (isolation, rounds) => {
    for (let round = 0; round < rounds; round++) {
      const db = await empty();
      const clients = await Promise.all(
        Array.from({ length: 20 }, () =>
          db.connect({ options: `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}` }),
        ),
      );
      const results = await Promise.all(clients.map((client) => migrate(queryable(client))));
      expect(results.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
      expect(results.filter(({ routines }) => routines)).toHaveLength(1);
      expect(results.map(({ to }) => to)).toEqual(results.map(() => SCHEMA_VERSION));
      const s = await engineOn(db);
      expect(await s.rows('select schema_version from comanda.installation')).toEqual([
        { schema_version: SCHEMA_VERSION },
      ]);
      expect(printCatalog(await readCatalog(s))).toBe(printCatalog(await readCatalog(await engine())));
      await db.drop();
    }
  });

  test('many schemas of one database, and databases of one cluster, at once: they share the roles', async () => {
    const dbs = await Promise.all([empty(), empty()]);
    await Promise.all(dbs.flatMap((db) => ['one', 'two', 'three'].map((schema) => migrated(db, schema))));
    for (const db of dbs) {
      const s = await engineOn(db);
      expect(
        await s.rows(`select nspname from pg_namespace where nspname in ('one', 'two', 'three') order by 1`),
      ).toHaveLength(3);
    }
  });
});

describe('migrate', () => {
  test('a second time changes nothing', async () => {
    const db = await empty();
    const client = queryable(await db.connect());
    expect(await migrate(client, { environment: 'staging' })).toMatchObject({
      from: 0,
      to: SCHEMA_VERSION,
      routines: true,
    });
    const s = await engineOn(db);
    const all = async () => ({
      catalog: printCatalog(await readCatalog(s)),
      rows: await s.rows('select * from comanda.installation'),
    });
    const before = await all();
    expect(await migrate(client)).toMatchObject({ from: SCHEMA_VERSION, applied: [], routines: false });
    expect(await all()).toEqual(before);
    expect(before.rows).toEqual([expect.objectContaining({ environment: 'staging', schema_version: SCHEMA_VERSION })]);
  });

  test('keeps what is there: decisions, switches, work in progress', async () => {
    const s = await engine();
    await wholeCycle(s, 'before');
    await s.call('switch_set', { scope: 'all', mode: 'hold', by: 'ada', reason: 'migration' });
    await s.rows(`update comanda.installation set routines_sha256 = 'older'`);
    expect(await migrate(queryable(await s.db.connect()))).toMatchObject({ applied: [], routines: true });
    expect(await s.row(`select mode from comanda.switch where scope = 'all'`)).toEqual({ mode: 'hold' });
    await s.call('switch_set', { scope: 'all', mode: 'run', by: 'ada', reason: 'done' });
    await wholeCycle(s, 'after');
  });

  test('fails as a whole: nothing is left of a migration that did not end', async () => {
    const db = await empty();
    const s = await engineOn(db);
    await s.client.query('create schema comanda; create table comanda.gauges (x int)');
    expect(await failure(migrate(queryable(await db.connect())))).toMatchObject({ code: '42809' });
    expect(
      await s.rows(`select relname from pg_class where relnamespace = 'comanda'::regnamespace and relkind = 'r'`),
    ).toEqual([{ relname: 'gauges' }]);
  });

  test('goes into a schema that an administrator has made', async () => {
    const db = await empty();
    const s = await engineOn(db);
    await s.client.query('create schema comanda');
    await migrate(queryable(await db.connect()));
    await wholeCycle(s);
  });
});

describe('the script for administrators', () => {
  const withoutMeta = (script: string): string => script.replaceAll(/^\\.*$/gm, '');

  test.each(['comanda', "O'Brien"])('makes of an empty database what migrate makes (%s)', async (schema) => {
    const db = await empty();
    const s = await engineOn(db, schema);
    await s.client.query(withoutMeta(migrationScript({ schema, environment: 'production' })));
    expect(await migrate(queryable(await db.connect()), { schema }), 'nothing is left to do').toMatchObject({
      from: SCHEMA_VERSION,
      applied: [],
      routines: false,
    });
    expect(await s.row('select environment, compatible_from from comanda.installation')).toEqual({
      environment: 'production',
      compatible_from: 1,
    });
    const same = (text: string) => text.replaceAll(`"${schema}".`, '').replaceAll(`${schema}.`, '');
    expect(same(printCatalog(await readCatalog(s, schema)))).toBe(
      same(printCatalog(await readCatalog(await engine()))),
    );
    await wholeCycle(s);
  });

  test('runs in psql, and twice is an error that changes nothing', async (context) => {
    const psql = programPath('psql');
    needService(context, 'psql', psql !== undefined, 'apt-get install postgresql-client');
    const db = await empty();
    const run = (script: string) => {
      const child = promisify(execFile)(psql ?? '', ['-X', '-q', '-d', db.url], { maxBuffer: 1e7 });
      // The second run ends before it has read everything.
      child.child.stdin?.on('error', () => {}).end(script);
      return child;
    };
    const script = migrationScript({ schema: 'My-Schema' });
    await run(script);
    const s = await engineOn(db, 'My-Schema');
    await wholeCycle(s);
    const before = await s.rows('select * from comanda.installation');
    expect(await failure(run(script))).toMatchObject({ code: 3, stderr: expect.stringContaining('already exists') });
    expect(await s.rows('select * from comanda.installation')).toEqual(before);
  });

  test('of a version that is there writes routines and rights only', async () => {
    const s = await engine();
    await s.rows(`update comanda.installation set routines_sha256 = 'older'`);
    await s.client.query(withoutMeta(migrationScript({ from: SCHEMA_VERSION })));
    expect(await migrate(queryable(await s.db.connect()))).toMatchObject({ applied: [], routines: false });
    expect(await s.row('select environment from comanda.installation')).toEqual({ environment: 'test' });
    await wholeCycle(s);
  });
});
