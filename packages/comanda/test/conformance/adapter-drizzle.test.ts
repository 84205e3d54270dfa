import { createDatabase } from '@comanda/test-support';
import {
  type DrizzleLike,
  type DrizzleTransactionLike,
  drizzleStandalone,
  drizzleTransaction,
} from 'comanda/adapters/drizzle';
import { adapterConformance } from 'comanda/testing';
import { type NodePgDatabase, drizzle as onPg } from 'drizzle-orm/node-postgres';
import { drizzle as onPostgres, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, test } from 'vitest';

let withPg: NodePgDatabase;
let withPostgres: PostgresJsDatabase;
let drop: () => Promise<void>;

beforeAll(async () => {
  const database = await createDatabase();
  const sql = postgres(database.url, { max: 4 });
  withPg = onPg(database.pool(4));
  withPostgres = onPostgres(sql);
  drop = async () => {
    await sql.end();
    await database.drop();
  };
});
afterAll(() => drop());

interface Db extends DrizzleLike {
  transaction<Result>(work: (tx: DrizzleTransactionLike) => Promise<Result>): Promise<Result>;
}

describe.each([
  ['Drizzle on pg', (): Db => withPg],
  ['Drizzle on postgres.js', (): Db => withPostgres],
])('%s', (_, db) => {
  const checks = adapterConformance({
    transaction: (work) => db().transaction((tx) => work(drizzleTransaction(tx))),
    standalone: { query: (text, params) => drizzleStandalone(db()).query(text, params) },
    outside: () => drizzleTransaction(db() as DrizzleLike as DrizzleTransactionLike),
  });
  test.each(checks.map((check) => [check.name, check] as const))('%s', (_name, check) => check.run());
});
