import { decide, decideStandalone } from '../decide/decide.js';
import { isComandaError, sqlstateOf } from '../kernel/errors.js';
import { newId } from '../kernel/ids.js';
import { inSchema } from '../kernel/schema-name.js';
import type { Queryable, Transaction } from '../ports/database.js';
import { equal, refusal, rejection, that } from './assert.js';

/** A database adapter that is to be checked, on a database in which Comanda is installed. */
export interface AdapterUnderTest {
  /** Runs `work` in one transaction, which commits when `work` resolves and rolls back when it rejects. Two of them can be open at once. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /** A handle on which each statement commits by itself. */
  readonly standalone: Queryable;
  /** Gives the adapter a handle that is in no transaction; it, or the first statement, must refuse. */
  outside(): Transaction;
  /** Name of the schema. Default: `comanda`. */
  readonly schema?: string;
}

/** One named check; `run` rejects when the adapter fails it. */
export interface ConformanceCheck {
  readonly name: string;
  run(): Promise<void>;
}

/**
 * What every adapter must do, as named checks for any test runner:
 *
 * ```ts
 * for (const check of adapterConformance(adapter)) test(check.name, check.run);
 * ```
 */
export function adapterConformance(adapter: AdapterUnderTest): readonly ConformanceCheck[] {
  return [...rowsInAndOut(adapter), ...together(adapter), ...refusals(adapter)];
}

/** Texts that drivers, encodings and parsers of placeholders have been known to change. */
const ODD_TEXTS = [
  '',
  ' leading and trailing ',
  `quotes ' " \` and \\ back\\slashes`,
  'placeholders $1 ? :name @p1 {x} %s',
  'a,b;c -- d /* e */',
  'line\nfeed\r\nreturn\ttab\u2028separator\u2029',
  'controls \u0001\u001f\u007f\u0085',
  'combining e\u0301 and composed \u00e9',
  'astral \u{1f600} \u{10ffff} \u{20000}',
  'family \u{1f468}\u200d\u{1f469}\u200d\u{1f467} flag \u{1f1f2}\u{1f1fd}',
  'right to left \u202e\u05d0\u0627',
  '\ufeffbyte order mark and \ufffe\uffff',
];

function rowsInAndOut({ transaction }: AdapterUnderTest): readonly ConformanceCheck[] {
  const value = async (sql: string, ...params: unknown[]): Promise<unknown> => {
    const [row] = await transaction((tx) => tx.query<{ value: unknown }>(`select ${sql} as value`, params));
    return row?.value;
  };
  return [
    check('text comes back character by character', async () => {
      for (const text of ODD_TEXTS) equal(await value('$1::text', text), text);
    }),
    check('JSON text comes back as jsonb prints it, digit by digit', async () => {
      const text = '{"id": 1533947986218845197, "note": "é 😀 \\u0001", "tiny": 0.0000001, "amount": 2154.00}';
      equal(await value('$1::text::jsonb::text', text), text);
    }),
    check('a bigint beyond 2^53 is not rounded', async () => {
      equal(await value('($1::text::bigint)::text', '9007199254740993'), '9007199254740993');
      equal(String(await value('9007199254740993::bigint')), '9007199254740993');
    }),
    check('an instant keeps its microseconds as text', async () => {
      const sql = "(($1::text::timestamptz at time zone 'UTC')::text)";
      equal(await value(sql, '2026-03-08 02:30:00.123456-05'), '2026-03-08 07:30:00.123456');
    }),
    check('null goes in and comes out as null, true as true, 7 as 7', async () => {
      equal(await value('$1::text', null), null);
      equal(await value('true'), true);
      equal(await value('7::int'), 7);
    }),
    check('rows keep their order, their number and the names of their columns', async () => {
      const sql =
        'select n as "run_id", n * 2 as "twice" from generate_series(1, 1000) n where n <= $1::text::int order by n';
      const rows = await transaction((tx) => tx.query<Record<string, unknown>>(sql, ['1000']));
      equal(rows.length, 1000);
      equal(Object.entries(rows[41] ?? {}), [
        ['run_id', 42],
        ['twice', 84],
      ]);
      equal((await transaction((tx) => tx.query(sql, ['0']))).length, 0);
    }),
  ];
}

function together({ transaction, standalone, ...adapter }: AdapterUnderTest): readonly ConformanceCheck[] {
  const options = { schema: adapter.schema ?? 'comanda' };
  const known = async (key: string): Promise<number> => {
    const sql = inSchema(
      'select count(*)::int as n from comanda.run_ledger where idempotency_key = $1::text',
      options.schema,
    );
    const [row] = await standalone.query<{ n: number }>(sql, [key]);
    return row?.n ?? -1;
  };
  return [
    check('a decision commits with its transaction and is not seen before', async () => {
      const key = newKey();
      const decided = await transaction(async (tx) => {
        const first = await decide(tx, { key, effects: [{ kind: 'probe', payload: { n: 1 } }] }, options);
        equal(await known(key), 0);
        return first;
      });
      equal(decided.created, true);
      that(/^\d+$/.test(decided.runId), `runId is digits, not ${decided.runId}`);
      equal(await known(key), 1);
      const again = await transaction((tx) =>
        decide(tx, { key, effects: [{ kind: 'probe', payload: { n: 1 } }] }, options),
      );
      equal(again, { ...decided, created: false });
    }),
    check('a decision is rolled back with its transaction, and the error of the caller comes through', async () => {
      const key = newKey();
      const wish = new Error('rolled back on purpose');
      const thrown = await rejection(
        transaction(async (tx) => {
          await decide(tx, { key, effects: [] }, options);
          throw wish;
        }),
      );
      that(thrown === wish, 'the error of the caller comes through as it is');
      equal(await known(key), 0);
    }),
    check('a stand-alone decision commits at once', async () => {
      const key = newKey();
      equal((await decideStandalone(standalone, { key, effects: [] }, options)).created, true);
      equal(await known(key), 1);
    }),
    check('a payload of 100 kB arrives whole', async () => {
      const key = newKey();
      await transaction((tx) =>
        decide(tx, { key, effects: [{ kind: 'probe', payload: { text: 'é'.repeat(50_000) } }] }, options),
      );
      equal(await known(key), 1);
    }),
  ];
}

function refusals(adapter: AdapterUnderTest): readonly ConformanceCheck[] {
  const { transaction, standalone } = adapter;
  const options = { schema: adapter.schema ?? 'comanda' };
  return [
    check('a handle that is in no transaction is refused, and nothing is written', async () => {
      const key = newKey();
      const thrown = await rejection((async () => decide(adapter.outside(), { key, effects: [] }, options))());
      equal(refusal(thrown), 'COMANDA_NOT_IN_TRANSACTION');
      equal((await decideStandalone(standalone, { key, effects: [] }, options)).created, true);
    }),
    check('an error of the database keeps its SQLSTATE', async () => {
      equal(sqlstateOf(await rejection(transaction((tx) => tx.query('select 1 / 0', [])))), '22012');
    }),
    check('a refused decision leaves the transaction usable', async () => {
      const key = newKey();
      await decideStandalone(standalone, { key, effects: [{ kind: 'probe', payload: 1 }] }, options);
      await transaction(async (tx) => {
        const conflict = await rejection(decide(tx, { key, effects: [{ kind: 'probe', payload: 2 }] }, options));
        equal(refusal(conflict), 'COMANDA_KEY_CONFLICT');
        const invalid = await rejection(
          decide(tx, { key, effects: [{ kind: 'probe', payload: { note: 'a\0b' } }] }, options),
        );
        equal(refusal(invalid), 'COMANDA_INVALID_PAYLOAD');
        equal(await tx.query('select 1 as one', []), [{ one: 1 }]);
      });
    }),
    check('a serialization failure is retryable and shows 40001', async () => {
      const key = newKey();
      const thrown = await rejection(
        transaction(async (tx) => {
          await tx.query('set transaction isolation level repeatable read', []);
          await tx.query('select 1', []);
          await decideStandalone(standalone, { key, effects: [] }, options);
          await decide(tx, { key, effects: [] }, options);
        }),
      );
      retryable(thrown, '40001');
    }),
    check('a lock timeout is retryable and shows 55P03', async () => {
      const key = newKey();
      await transaction(async (first) => {
        await decide(first, { key, effects: [] }, options);
        const thrown = await rejection(
          transaction(async (second) => {
            await second.query("set local lock_timeout = '20ms'", []);
            await decide(second, { key, effects: [] }, options);
          }),
        );
        retryable(thrown, '55P03');
      });
    }),
  ];
}

function retryable(thrown: unknown, sqlstate: string): void {
  that(isComandaError(thrown, 'COMANDA_RETRYABLE'), `expected COMANDA_RETRYABLE, not ${String(thrown)}`);
  equal([sqlstateOf(thrown), thrown instanceof Error && 'retryable' in thrown && thrown.retryable], [sqlstate, true]);
}

function check(name: string, run: () => Promise<void>): ConformanceCheck {
  return { name, run };
}

function newKey(): string {
  return `conformance:${newId()}`;
}
