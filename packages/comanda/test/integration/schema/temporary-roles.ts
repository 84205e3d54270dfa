import { afterThisTest, withClient } from '@comanda/test-support';
import pg from 'pg';
import { inject } from 'vitest';

let prefixes = 0;

/** A prefix for roles of this test's own. They are dropped at its end: ask for it before the database that names them. */
export function temporaryRoles(): string {
  const prefix = `t${process.pid}_${++prefixes}`;
  afterThisTest(() =>
    withClient(inject('pgUrl'), async (admin) => {
      const { rows } = await admin.query<{ rolname: string }>(
        'select rolname from pg_roles where starts_with(rolname, $1)',
        [`${prefix}_`],
      );
      for (const { rolname } of rows) await admin.query(`drop role ${pg.escapeIdentifier(rolname)}`);
    }),
  );
  return prefix;
}

/** Creates a role that may log in, and returns a URL with which it does. */
export async function loginRole(name: string, url: string, attributes = ''): Promise<string> {
  await withClient(url, (admin) =>
    admin.query(`create role ${pg.escapeIdentifier(name)} login password 'secret' nosuperuser ${attributes}`),
  );
  const own = new URL(url);
  own.username = name;
  own.password = 'secret';
  return own.href;
}
