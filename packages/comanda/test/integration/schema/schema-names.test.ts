import { queryable } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { isComandaError } from '../../../src/kernel/errors.js';
import { inSchema } from '../../../src/kernel/schema-name.js';
import { migrate, migrationScript } from '../../../src/schema/migrate.js';
import { checkVersion, readInstalled, SCHEMA_VERSION } from '../../../src/schema/version.js';
import { engine } from '../../sql/kit/engine.js';
import { printCatalog, readCatalog } from './catalog.js';
import { wholeCycle } from './cycle.js';
import { empty, failure, migrated } from './installations.js';

const NAMES = [
  'My-Schema',
  'with space',
  'qu"ote',
  "O'Brien",
  'ünï',
  'select',
  'per%cent',
  '$$',
  '日本語',
  'comanda.x',
  '\\back',
  'x'.repeat(63),
];

describe('G03: unusual names of the schema', () => {
  test.each(NAMES)('%s: installs, installs again as a no-op, and works', async (schema) => {
    const db = await empty();
    const s = await migrated(db, schema);
    expect(await migrate(queryable(await db.connect()), { schema })).toMatchObject({
      schema,
      applied: [],
      routines: false,
    });
    expect(await readInstalled(queryable(await db.connect()), schema)).toMatchObject({ schemaVersion: SCHEMA_VERSION });
    await checkVersion(queryable(await db.connect()), schema);
    await wholeCycle(s);
    expect(
      await s.rows(
        `select nspname from pg_namespace where nspname !~ '^pg_' and nspname not in ('public', 'information_schema')`,
      ),
    ).toEqual([{ nspname: schema }]);
  });

  test.each(NAMES.slice(0, 5))('%s: looks as an installation of the usual name', async (schema) => {
    const s = await migrated(await empty(), schema);
    const same = (text: string) =>
      text.replaceAll(`"${schema.replaceAll('"', '""')}".`, '').replaceAll(`${schema}.`, '');
    expect(same(printCatalog(await readCatalog(s, schema)))).toBe(printCatalog(await readCatalog(await engine())));
  });

  test('two installations in one database know nothing of each other', async () => {
    const s = await engine();
    const other = await migrated(s.db, 'O\'Brien "2"');
    await s.rows('begin');
    await s.call('route', { relay: 'r', leaseMs: 1, kinds: [] }); // holds the router's lock of the first
    await wholeCycle(other);
    await s.rows('commit');
    expect(
      await s.row('select (select count(*) from comanda.run) + (select last_value from comanda.fence) - 1 as n'),
    ).toEqual({ n: 0 });
    await wholeCycle(s);
    expect((await s.row<{ c: string }>('select comanda.wake_channel() as c')).c).not.toBe(
      (await other.row<{ c: string }>('select comanda.wake_channel() as c')).c,
    );
  });

  test.each(['', 'x'.repeat(64), 'pg_mine', 'information_schema', 'a$fn$b', 'a$do$b', 'a\nb', 'nul\0'])(
    '%j is refused',
    async (schema) => {
      const error = await failure(migrate({ query: () => Promise.reject(new Error('no SQL is sent')) }, { schema }));
      expect(isComandaError(error, 'COMANDA_INVALID_CONFIG')).toBe(true);
    },
  );

  test('the SQL files name the schema only where it can be replaced', () => {
    const script = migrationScript({ schema: 'Elsewhere' });
    const left = script
      .split('\n')
      .filter(
        (line) => /comanda\./.test(line.replaceAll(/'comanda\.(role_prefix|lanes_)/g, '')) && !/^\s*--/.test(line),
      );
    expect(left).toEqual([]);
    expect(inSchema(`select 'comanda.run'::regclass, comanda.decide($1), 'comanda.x'`, `a"b'c`)).toBe(
      `select '"a""b''c".run'::regclass, "a""b'c".decide($1), 'comanda.x'`,
    );
  });
});
