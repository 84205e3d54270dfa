import { eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { completed, isRetryableDatabaseError, type Queryable } from '../../src/index.js';
import { type Bench, bench, counting } from '../relay/setup.js';
import { each, LONG } from './kit.js';

/** Serialization, deadlock, lock timeout, statement timeout, shutdown, connection, too many connections, disk full. */
const STATES = ['40001', '40P01', '55P03', '57014', '57P01', '08006', '53300', '53100'];
/** Before: the statement was never executed. After: it committed, and its answer was lost. */
type When = 'before' | 'after';

const nameOf = (text: string): string => /\bcomanda\.(\w+)\(/.exec(text)?.[1] ?? 'version';

/** A database port that fails the first calls of one statement, each with another SQLSTATE. */
function failing(base: Queryable, statement: string, when: When): { port: Queryable; left: () => number } {
  const states = [...STATES];
  return {
    left: () => states.length,
    port: {
      query: async <Row>(text: string, params: readonly unknown[]) => {
        const code = nameOf(text) === statement ? states.shift() : undefined;
        if (code === undefined || when === 'before') {
          if (code !== undefined) throw failure(code);
          return await base.query<Row>(text, params);
        }
        await base.query<Row>(text, params);
        throw failure(code);
      },
    },
  };
}

const failure = (code: string) => Object.assign(new Error(`injected ${code}`), { code });

/** Providers in memory: one that honours its key, and one that knows nothing of keys and can be asked. */
function providers() {
  const operations = new Map<string, number>();
  const ms = (key: string) => (key.includes('-slow') ? 450 : key.includes('-late') ? 2_000 : 2);
  const slowly = (key: string) => new Promise((resolve) => setTimeout(resolve, ms(key)));
  const act = (kind: string, idempotency: 'key' | 'natural' | 'none', more = {}) =>
    counting(
      kind,
      async (_input, { idempotencyKey, attempt }) => {
        await slowly(idempotencyKey);
        // Now and then the first attempt cannot be made, so that `retry` is settled too.
        if (attempt === 1 && idempotencyKey.includes('-odd')) return { outcome: 'retry', notSent: true };
        if (idempotency !== 'key' || !operations.has(idempotencyKey))
          operations.set(idempotencyKey, (operations.get(idempotencyKey) ?? 0) + 1);
        return completed({ providerId: idempotencyKey });
      },
      { idempotency, timeout: 600, ...more },
    );
  const reconcile = async (_input: unknown, { idempotencyKey }: { readonly idempotencyKey: string }) =>
    operations.has(idempotencyKey) ? ({ found: 'applied' } as const) : ({ found: 'absent' } as const);
  const effects = [
    act('keyed', 'key'),
    act('natural', 'natural'),
    act('looked', 'none', { reconcile }),
    act('blind', 'none', { onUnknown: 'ask-human' }),
  ];
  return { operations, effects };
}

const done = async (b: Bench) =>
  (
    await b.rows(
      `select from comanda.effect_state where state <> 'completed' and (state <> 'unknown' or kind <> 'blind')`,
    )
  ).length === 0;

/** `slow` is renewed, `late` is left behind by its relay and answers nevertheless. */
const WORDS = LONG ? ['a', 'odd', 'slow', 'late'] : ['a', 'odd', 'slow'];

let serial = 0;
async function decideSome(b: Bench): Promise<void> {
  for (const word of WORDS) {
    serial += 1;
    const effects = ['keyed', 'natural', 'looked', 'blind'].map((kind) => ({ kind, payload: { kind } }));
    const actor = { type: 'system', id: 't' } as const;
    await b.decide({ key: `k${serial}-${word}`, actor, effects });
  }
}

async function problems(b: Bench, operations: ReadonlyMap<string, number>): Promise<string[]> {
  const rows = await b.rows<{ key: string; kind: string; state: string }>(
    'select idempotency_key as key, kind, state from comanda.effect_state',
  );
  const wrong = rows.flatMap(({ key, kind, state }) => {
    const times = operations.get(key) ?? 0;
    const fine = state === 'completed' ? times === 1 || (kind === 'natural' && times > 1) : times <= 1;
    return fine ? [] : [`${key}: ${state}, ${times} operations`];
  });
  for (const row of await b.rows('select * from comanda.unattended')) wrong.push(`unattended ${JSON.stringify(row)}`);
  return wrong;
}

/** What a relay asks the database while it does such work, told by a run in which nothing fails. */
async function statementsSeen(): Promise<string[]> {
  const b = await bench(6);
  const { effects } = providers();
  const seen = new Set<string>();
  const base = pgStandalone(b.pool);
  const database: Queryable = {
    query: (text, params) => {
      seen.add(nameOf(text));
      return base.query(text, params);
    },
  };
  const relay = b.relay({ effects, database, lease: 900 });
  await decideSome(b);
  await relay.start();
  await eventually(() => done(b), { withinMs: 20_000, what: 'the work' });
  await relay.stop();
  return [...seen];
}

describe('errors injected into the relay’s statements', () => {
  it('each statement fails with each SQLSTATE, before it is executed and after it was: the relay goes on, nothing lost or doubled', async () => {
    const seen = await statementsSeen();
    expect(seen.length).toBeGreaterThan(10);
    const points = seen.flatMap((statement) => (['before', 'after'] as const).map((when) => ({ statement, when })));
    await each(points, LONG ? 2 : 4, async ({ statement, when }) => {
      const where = `${statement}, ${when} it was executed`;
      const b = await bench(6);
      const { operations, effects } = providers();
      const { port, left } = failing(pgStandalone(b.pool), statement, when);
      await decideSome(b);
      let relay = b.relay({ effects, database: port, lease: 900 });
      // What is asked before anything runs makes the start fail; whoever supervises it starts it again.
      for (let starts = 1; starts <= STATES.length + 1; starts += 1) {
        const error: unknown = await relay.start().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error === undefined) break;
        expect(String(error), where).toContain('injected');
        relay = b.relay({ effects, database: port, lease: 900 });
      }
      const used = async () => {
        // Statements that are asked once per piece of work need more work to be asked so often.
        if (left() > 0 && (await done(b))) await decideSome(b);
        return left() === 0 && (await done(b));
      };
      await eventually(used, { withinMs: 60_000, everyMs: 40, what: `all done with errors of ${where}` });
      expect(await problems(b, operations), where).toEqual([]);
      expect(relay.status().state, where).toBe('running');
      await relay.stop();
    });
  }, 400_000);
});

describe('errors injected into callers’ transactions', () => {
  it('a real deadlock between two callers is retryable, and the repeated key is one decision', async () => {
    const b = await bench(6);
    await b.rows('create table public.stock (id int primary key, n int)');
    await b.rows('insert into public.stock values (1, 0), (2, 0)');
    const clients = await Promise.all([1, 2].map(() => b.database.connect()));
    const text = (key: string) =>
      JSON.stringify({
        key,
        actor: { type: 'system', id: 't' },
        effects: [{ kind: 'keyed', orderingKey: key }],
      });
    const transaction = async (index: number): Promise<unknown[]> => {
      const client = clients[index];
      const errors: unknown[] = [];
      for (;;) {
        try {
          await client?.query('begin');
          await client?.query('select * from comanda.decide($1::text::jsonb)', [text(`caller-${index}`)]);
          await client?.query('update public.stock set n = n + 1 where id = $1', [index + 1]);
          await meet(index);
          await client?.query('update public.stock set n = n + 1 where id = $1', [2 - index]);
          await client?.query('commit');
          return errors;
        } catch (error) {
          errors.push(error);
          await client?.query('rollback');
        }
      }
    };
    const here = new Set<number>();
    const meet = (index: number) => {
      here.add(index);
      return eventually(() => here.size === 2, { what: 'both callers holding a row' });
    };
    const errors = (await Promise.all([transaction(0), transaction(1)])).flat();
    expect(errors.map((error) => (error as { code?: string }).code)).toEqual(['40P01']);
    expect(errors.every(isRetryableDatabaseError)).toBe(true);
    expect(await b.rows('select key from comanda.run order by key')).toEqual([
      { key: 'caller-0' },
      { key: 'caller-1' },
    ]);
    expect(await b.rows('select n from public.stock')).toEqual([{ n: 2 }, { n: 2 }]);
  });
});
