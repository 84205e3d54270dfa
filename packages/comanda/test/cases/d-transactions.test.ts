import { eventually, needPgbouncer, startPgbouncer } from '@comanda/test-support';
import { type ComandaError, decide, decideStandalone, isComandaError, type Transaction } from 'comanda';
import { inPgTransaction, pgStandalone, pgTransaction } from 'comanda/adapters/pg';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { bench, LOCK_WAITS, one, thrownBy } from './kit.js';

test('D01: 20 transactions share a pool of one connection, and all finish', async () => {
  const b = await bench(1);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => b.decide(one(`d01:${n}`, n, { orderingKey: 'o' }))),
  );
  expect(answers.every((answer) => answer.created)).toBe(true);
});

describe('D03: what our own transaction helper leaves behind', () => {
  test.each([
    ['a conflict', one('known', 2)],
    ['an invalid payload', one('x', '\0')],
    ['an invalid decision', { key: '', effects: [] }],
  ])('after %s the only client of the pool works', async (_, decision) => {
    const b = await bench(1);
    await b.decide(one('known', 1));
    const code = (await thrownBy(b.decide(decision)))?.['code'];
    expect(String(code)).toMatch(/^COMANDA_(KEY_CONFLICT|INVALID_PAYLOAD|INVALID_DECISION)$/);
    expect(await b.value('select 1')).toBe(1);
    expect(await b.counts()).toMatchObject({ runs: 1 });
  });

  test('after a failed statement, and after one whose failure was hidden: nothing is committed, and that is said', async () => {
    const b = await bench(1);
    expect(await thrownBy(b.transaction((_, client) => client.query('select 1 / 0')))).toMatchObject({ code: '22012' });
    const hidden = b.transaction(async (tx, client) => {
      await decide(tx, one('k', 1));
      await client.query('select 1 / 0').catch(() => undefined);
      return 'fine';
    });
    expect(await thrownBy(hidden)).toMatchObject({
      code: 'COMANDA_NOT_IN_TRANSACTION',
      details: { reason: expect.stringContaining('rolled back') },
    });
    expect(await b.counts()).toMatchObject({ runs: 0 });
  });

  test('a connection that is killed in the middle is thrown away, and the process lives', async () => {
    const b = await bench(1);
    const killed = b.transaction(async (tx, client) => {
      await decide(tx, one('k', 1));
      await client.query('select pg_terminate_backend(pg_backend_pid())');
    });
    expect(await thrownBy(killed)).toMatchObject({ code: '57P01' });
    expect(await b.value('select 1')).toBe(1);
    expect(await b.counts()).toMatchObject({ runs: 0 });
  });

  test('killed while nothing was asked of it: the next statement reports it', async () => {
    const b = await bench(1);
    const admin = await b.db.connect();
    const killed = b.transaction(async (_, client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const gone = new Promise((resolve) => client.once('end', resolve));
      await admin.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await gone;
      await client.query('select 1');
    });
    expect(await thrownBy(killed)).toBeInstanceOf(Error);
    expect(await b.value('select 1')).toBe(1);
  });
});

test('D04: decisions through a transaction pooler, many clients on few connections', async (context) => {
  needPgbouncer(context);
  const b = await bench();
  const bouncer = await startPgbouncer({ url: b.db.url, poolSize: 2 });
  const pool = new pg.Pool({ connectionString: bouncer.url, max: 8 });
  const work = Array.from({ length: 60 }, (_, n) =>
    n % 2 === 0
      ? decideStandalone(pgStandalone(pool), one(`d04:${n}`, n))
      : inPgTransaction(pool, (tx) => decide(tx, one(`d04:${n}`, n, { orderingKey: `o${n % 3}` }))),
  );
  expect((await Promise.all(work)).every((answer) => answer.created)).toBe(true);
  expect(await b.counts()).toEqual({ runs: 60, effects: 60, arrivals: 60 });
  await pool.end();
});

describe('D08: errors that ask for a repetition keep their SQLSTATE', () => {
  const wanted = (error: unknown): boolean => {
    const found = error as { code?: string; sqlstate?: string };
    return ['40001', '40P01'].includes(found.sqlstate ?? found.code ?? '');
  };

  test('40 serializable callers on one aggregate, with a loop that only knows SQLSTATEs: exactly 40 decisions', async () => {
    const b = await bench(10);
    await b.rows('create table account (id int primary key, balance int)');
    await b.rows('insert into account values (1, 1000)');
    let repeated = 0;
    const spend = async (n: number): Promise<void> => {
      for (;;) {
        const error = await thrownBy(
          inPgTransaction(b.pool, async (tx, client) => {
            await client.query('set transaction isolation level serializable');
            await client.query('select balance from account where id = 1');
            await client.query('update account set balance = balance - 1 where id = 1');
            await decide(tx, one(`d08:${n}`, { n }, { orderingKey: 'account:1' }));
          }),
        );
        if (error === undefined) return;
        if (!wanted(error)) throw error;
        repeated += 1;
      }
    };
    await Promise.all(Array.from({ length: 40 }, (_, n) => spend(n)));
    expect(await b.counts()).toEqual({ runs: 40, effects: 40, arrivals: 40 });
    expect(await b.value('select balance from account')).toBe(960);
    expect(repeated).toBeGreaterThan(0);
  });

  test('a duplicate that its snapshot cannot see is retryable, not a conflict and not nothing', async () => {
    const b = await bench();
    const client = await b.db.connect();
    await client.query('begin isolation level repeatable read');
    await client.query('select 1');
    const made = await b.decide(one('k', 1));
    const error = await thrownBy(decide(pgTransaction(client), one('k', 1)));
    expect(error).toMatchObject({
      code: 'COMANDA_RETRYABLE',
      sqlstate: '40001',
      retryable: true,
      cause: expect.objectContaining({ code: '40001' }),
    });
    await client.query('rollback');
    await client.query('begin isolation level repeatable read');
    expect(await decide(pgTransaction(client), one('k', 1))).toEqual({ ...made, created: false });
    await client.query('commit');
  });

  test('a deadlock of the callers is 40P01 inside decide(), and the loser can go again', async () => {
    const b = await bench();
    const [left, right] = [await b.db.connect(), await b.db.connect()];
    for (const client of [left, right]) await client.query("set deadlock_timeout = '50ms'");
    for (const client of [left, right]) await client.query('begin');
    await decide(pgTransaction(left), one('x', 1));
    await decide(pgTransaction(right), one('y', 1));
    const crossed = [
      thrownBy(decide(pgTransaction(left), one('y', 1)).finally(() => left.query('rollback'))),
      thrownBy(decide(pgTransaction(right), one('x', 1)).finally(() => right.query('rollback'))),
    ];
    const errors = (await Promise.all(crossed)).filter((error) => error !== undefined);
    expect(errors).toEqual([expect.objectContaining({ code: 'COMANDA_RETRYABLE', sqlstate: '40P01' })]);
  });

  test('a lane that stays locked does not hold COMMIT for ever: 55P03, nothing written, typed by the helper', async () => {
    const b = await bench();
    const holder = await b.db.connect();
    await holder.query('begin');
    await holder.query(
      `select pg_advisory_xact_lock(hashtextextended('o', 'comanda.effect_arrival'::regclass::oid::bigint))`,
    );
    const blocked = b.transaction(async (tx, client) => {
      await client.query("set local lock_timeout = '50ms'");
      await decide(tx, one('k', 1, { orderingKey: 'o' }));
    });
    expect(await thrownBy(blocked)).toMatchObject({ code: 'COMANDA_RETRYABLE', sqlstate: '55P03' });
    expect(await b.counts()).toEqual({ runs: 0, effects: 0, arrivals: 0 });
    const waits = b.decide(one('k', 1, { orderingKey: 'o' }));
    await eventually(async () => (await b.value<number>(LOCK_WAITS)) === 1, {
      what: 'the commit to wait for the lane',
    });
    await holder.query('commit');
    expect(await waits).toMatchObject({ created: true });
  });
});

describe('D15: a handle that is not in the transaction', () => {
  test.each<[string, (pool: pg.Pool, idle: pg.Client) => Transaction]>([
    ['a pool', (pool) => pgTransaction(pool)],
    ['a client before begin', (_, idle) => pgTransaction(idle)],
    ['a raw client', (_, idle) => idle as unknown as Transaction],
    ['a raw pool', (pool) => pool as unknown as Transaction],
    ['a stand-alone handle', (pool) => pgStandalone(pool) as Transaction],
    ['nothing', () => undefined as unknown as Transaction],
  ])('%s is refused, typed, and nothing is written', async (_, handle) => {
    const b = await bench();
    const idle = await b.db.connect();
    const error = await thrownBy((async () => decide(handle(b.pool, idle), one('k', 1)))());
    expect(error).toMatchObject({ code: 'COMANDA_NOT_IN_TRANSACTION', retryable: false });
    expect(isComandaError(error) && (error as ComandaError).message).toContain('stand-alone');
    expect(await b.counts()).toMatchObject({ runs: 0 });
  });

  test('a handle whose transaction has ended is refused: it would commit by itself', async () => {
    const b = await bench();
    const client = await b.db.connect();
    await client.query('begin');
    const tx = pgTransaction(client);
    await decide(tx, one('first', 1));
    await client.query('rollback');
    expect(await thrownBy(decide(tx, one('late', 1)))).toMatchObject({ code: 'COMANDA_NOT_IN_TRANSACTION' });
    expect(await b.counts()).toMatchObject({ runs: 0 });
  });

  test('asked for by name, a stand-alone decision is one', async () => {
    const b = await bench();
    expect(await decideStandalone(pgStandalone(b.pool), one('k', 1))).toMatchObject({ created: true });
  });

  test('after ROLLBACK of the business transaction there is no decision, whatever savepoints there were', async () => {
    const b = await bench();
    const client = await b.db.connect();
    await client.query('begin');
    const tx = pgTransaction(client);
    await decide(tx, one('a', 1, { orderingKey: 'o' }));
    await client.query('savepoint s');
    await decide(tx, one('b', 1, { orderingKey: 'p' }));
    await client.query('rollback to s');
    expect(await decide(tx, one('b', 2, { orderingKey: 'p' }))).toMatchObject({ created: true });
    await client.query('commit');
    expect(
      await b.rows(
        'select e.payload, a.lane from comanda.effect e join comanda.effect_arrival a on a.effect_id = e.id order by e.id',
      ),
    ).toEqual([
      { payload: '1', lane: 'k:o' },
      { payload: '2', lane: 'k:p' },
    ]);
    await client.query('begin');
    await decide(tx, one('c', 1));
    await client.query('rollback');
    expect(await b.counts()).toEqual({ runs: 2, effects: 2, arrivals: 2 });
  });
});
