import { readFileSync } from 'node:fs';
import { createDatabase } from '@comanda/test-support';
import { expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { migrate } from '../../src/schema/migrate.js';
import { temporaryRoles } from '../integration/schema/temporary-roles.js';
import { type Engine, engineOn } from '../sql/kit/engine.js';

const SCHEMA_1 = readFileSync(new URL('./schema-1.sql', import.meta.url), 'utf8');

const rightsOf = (s: Engine, role: string) =>
  s.rows(
    `select p.proname as name from pg_proc p cross join lateral aclexplode(p.proacl) g
       where p.pronamespace = 'comanda'::regnamespace and g.grantee = $1::regrole
     union all select c.relname from pg_class c cross join lateral aclexplode(c.relacl) g
       where c.relnamespace = 'comanda'::regnamespace and g.grantee = $1::regrole order by 1`,
    [role],
  );

it('roles of an earlier prefix keep their rights through an upgrade that names none, and no other role gets any', async () => {
  const prefix = temporaryRoles();
  const db = await createDatabase({ template: false });
  const old = await db.connect();
  await old.query('create schema comanda');
  await old.query(`select set_config('comanda.role_prefix', '${prefix}', false)`);
  await old.query(SCHEMA_1);
  // Someone else's group of a like name, that may look at the schema, is no relay.
  await old.query(`create role ${prefix}_mail_relay; grant usage on schema comanda to ${prefix}_mail_relay`);

  await migrate(pgStandalone(await db.connect()), { environment: 'test' });

  const s = await engineOn(db);
  for (const door of ['app', 'relay', 'approver', 'operator', 'reader']) {
    const rights = await rightsOf(s, `${prefix}_${door}`);
    expect(rights).toEqual(await rightsOf(s, `comanda_${door}`));
    expect(rights.length).toBeGreaterThan(3);
  }
  expect(await rightsOf(s, `${prefix}_mail_relay`)).toEqual([]);
  const relay = await s.session(`${prefix}_relay`);
  expect(await relay.call('relay_beat', { relay: 'r1', kinds: [] })).toMatchObject([{ holds: null }]);
  await relay.client.end();
  await db.drop();
});
