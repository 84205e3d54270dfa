import { createDatabase, queryable, type TestDatabase, withClient } from '@comanda/test-support';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { migrate } from '../../../src/schema/migrate.js';
import { engineOn } from '../../sql/kit/engine.js';
import { ask, claimOne, decide, ended, settle } from '../../sql/kit/steps.js';
import { loginRole, temporaryRoles } from './temporary-roles.js';

const ROLES = ['app', 'relay', 'approver', 'operator', 'reader'];

describe('an installer without CREATEROLE', () => {
  async function owned(prefix: string): Promise<{ db: TestDatabase; own: string }> {
    const owner = `${prefix}_owner`;
    const db = await createDatabase({ template: false });
    const own = await loginRole(owner, db.url, 'nocreaterole nocreatedb');
    await withClient(db.url, (admin) =>
      admin.query(
        `alter database ${pg.escapeIdentifier(db.name)} owner to ${pg.escapeIdentifier(owner)}; revoke all on schema public from public`,
      ),
    );
    return { db, own };
  }

  test('installs, is told which roles are missing, and grants them when it migrates again', async () => {
    const prefix = temporaryRoles();
    const { db, own } = await owned(prefix);
    const missing = ROLES.map((role) => `${prefix}_${role}`);
    const first = await withClient(own, (client) => migrate(queryable(client), { rolePrefix: prefix }));
    expect([...first.missingRoles].sort()).toEqual([...missing].sort());
    const s = await engineOn(db);
    expect(
      await s.rows(
        'select system_identifier is not null as known, timeline > 0 as on_timeline from comanda.installation',
      ),
    ).toEqual([{ known: true, on_timeline: true }]);
    for (const role of missing) await s.rows(`create role ${role}`);
    const app = await s.session(`${prefix}_app`);
    const decision = `select * from comanda.decide('{"key":"k","effects":[{"kind":"mail","orderingKey":"a"}]}')`;
    expect(await app.sqlstate(decision)).toBe('42501');
    const second = await withClient(own, (client) => migrate(queryable(client), { rolePrefix: prefix }));
    expect(second).toMatchObject({ applied: [], routines: false, missingRoles: [] });
    await app.rows(decision);
    const relay = await s.session(`${prefix}_relay`);
    await relay.call('route', { relay: 'r1', leaseMs: 1000, kinds: [] });
    const c = await claimOne(relay);
    expect(await settle(relay, c, 'next', { ended: [ended(c)] })).toBe('ok');
    await db.drop();
  });

  test('the owner itself can do everything, and the work goes on without any role', async () => {
    const prefix = temporaryRoles();
    const { db, own } = await owned(prefix);
    await withClient(own, async (client) => {
      await migrate(queryable(client), { rolePrefix: prefix });
    });
    const s = await engineOn(db);
    await s.rows(`set role ${prefix}_owner`);
    const [id] = await decide(s, 'k', [{}]);
    await s.call('route', { relay: 'r1', leaseMs: 1000, kinds: [] });
    const c = await claimOne(s);
    await settle(s, c, 'next', { ended: [ended(c, 'failed')] });
    expect(await ask(s, id, 'redrive')).toBe('redriven');
    await s.rows('reset role');
    await db.drop();
  });

  test('with CREATEROLE the roles are made, with the prefix that was asked for', async () => {
    const prefix = temporaryRoles();
    const db = await createDatabase({ template: false });
    const own = await loginRole(`${prefix}_owner`, db.url, 'createrole');
    await withClient(db.url, (admin) =>
      admin.query(`alter database ${pg.escapeIdentifier(db.name)} owner to ${pg.escapeIdentifier(`${prefix}_owner`)}`),
    );
    expect(await withClient(own, (client) => migrate(queryable(client), { rolePrefix: prefix }))).toMatchObject({
      missingRoles: [],
    });
    const s = await engineOn(db);
    expect(
      await s.rows(
        `select rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles where rolname = any ($1) `,
        [ROLES.map((role) => `${prefix}_${role}`)],
      ),
    ).toEqual(
      ROLES.map(() => ({
        rolname: expect.any(String),
        rolcanlogin: false,
        rolsuper: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolbypassrls: false,
      })),
    );
    await db.drop();
  });
});
