import { databaseUrl, identifier, queryable, withClient } from './sql-client.js';
import type { TemplateState } from './vitest-context.js';

/** Creates the database `name` with the product's schema in it, to be copied by tests. Never fails: the reason is handed to the tests that ask for it. */
export async function createTemplate(serverUrl: string, name: string): Promise<TemplateState> {
  try {
    const { migrate } = await import('comanda/internal'); // here, so that a library that does not load fails these tests only
    await withClient(serverUrl, (admin) => admin.query(`create database ${identifier(name)}`));
    await withClient(databaseUrl(serverUrl, name), (client) => migrate(queryable(client), { environment: 'test' }));
    // An autovacuum worker on the template would make each copy wait for it.
    await withClient(serverUrl, (admin) =>
      admin.query(`alter database ${identifier(name)} with allow_connections false`),
    );
    return { name };
  } catch (error) {
    return { missing: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
