import { createDatabase, type TestDatabase } from '@comanda/test-support';
import pg from 'pg';
import { expect } from 'vitest';
import { inSchema } from '../../../src/kernel/schema-name.js';

export type Row = Readonly<Record<string, unknown>>;

/** One connection to a test's own database, with short words for what these tests do over and over. */
export interface Session {
  readonly client: pg.Client;
  /** Runs one statement. bigint columns come as numbers. */
  rows<T = Row>(sql: string, params?: readonly unknown[]): Promise<T[]>;
  /** The only row of a statement. */
  row<T = Row>(sql: string, params?: readonly unknown[]): Promise<T>;
  /** Calls one of our functions with a request, as every door does. */
  call<T = Row>(name: string, request: unknown): Promise<T[]>;
  /** The SQLSTATE with which a statement fails; fails itself when the statement succeeds. */
  sqlstate(sql: string, params?: readonly unknown[]): Promise<string | undefined>;
}

/** A database with the product's schema, and a session in it. */
export interface Engine extends Session {
  readonly db: TestDatabase;
  /** A further session, of the role named if one is. */
  session(role?: string): Promise<Session>;
}

/** Creates a database of this test's own, with the schema installed. */
export async function engine(): Promise<Engine> {
  return await engineOn(await createDatabase());
}

/** Works on a database that is there already. SQL written for the schema `comanda` runs in `schema`. */
export async function engineOn(db: TestDatabase, schema = 'comanda'): Promise<Engine> {
  const session = async (role?: string): Promise<Session> => {
    const opened = sessionOn(await db.connect(), schema);
    if (role !== undefined) await opened.rows(`set role ${pg.escapeIdentifier(role)}`);
    return opened;
  };
  return { ...(await session()), db, session };
}

/** Wraps a connection. */
function sessionOn(client: pg.Client, schema = 'comanda'): Session {
  client.setTypeParser(pg.types.builtins.INT8, Number);
  const rows = async <T>(sql: string, params: readonly unknown[] = []): Promise<T[]> =>
    (await client.query(inSchema(sql, schema), [...params])).rows as T[];
  return {
    client,
    rows,
    async row<T>(sql: string, params?: readonly unknown[]) {
      const found = await rows<T>(sql, params);
      expect(found, sql).toHaveLength(1);
      return found[0] as T;
    },
    call: <T>(name: string, request: unknown) =>
      rows<T>(`select * from comanda.${name}($1::text::jsonb)`, [JSON.stringify(request)]),
    async sqlstate(sql, params) {
      const failed = await client.query(inSchema(sql, schema), [...(params ?? [])]).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failed, `${sql} was expected to fail`).toBeDefined();
      return (failed as { code?: string }).code;
    },
  };
}
