import { createDatabase, queryable, type TestDatabase } from '@comanda/test-support';
import { migrate } from '../../../src/schema/migrate.js';
import { type Engine, engineOn } from '../../sql/kit/engine.js';

/** A database without an installation. */
export const empty = (): Promise<TestDatabase> => createDatabase({ template: false });

/** Installs, and works there. */
export async function migrated(db: TestDatabase, schema?: string): Promise<Engine> {
  await migrate(queryable(await db.connect()), schema === undefined ? {} : { schema });
  return await engineOn(db, schema);
}

/** The error with which a promise ends. */
export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
