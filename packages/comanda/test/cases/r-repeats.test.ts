import { decide, decideMany, decideStandalone } from 'comanda';
import { pgStandalone, pgTransaction } from 'comanda/adapters/pg';
import { describe, expect, test } from 'vitest';
import { bench, one, thrownBy } from './kit.js';

const created = (rows: readonly { created: boolean }[]): number => rows.filter((row) => row.created).length;

describe('R01: the same key at the same instant', () => {
  test('20 connections: one decision, one set of effects, created once, never nothing', async () => {
    const b = await bench(20);
    const clients = await Promise.all(Array.from({ length: 20 }, () => b.db.connect()));
    for (let round = 0; round < 5; round++) {
      const decision = {
        key: `r01:${round}`,
        effects: [
          { kind: 'refund', payload: { amount: 2154 }, orderingKey: 'o' },
          { kind: 'mail', key: `mail:${round}` },
        ],
      };
      const answers = await Promise.all(clients.map((client) => decideStandalone(pgStandalone(client), decision)));
      expect(created(answers)).toBe(1);
      expect(new Set(answers.map((answer) => answer.runId)).size).toBe(1);
      expect(new Set(answers.map((answer) => `${answer.effectsHash} ${answer.decidedAt} ${answer.state}`)).size).toBe(
        1,
      );
    }
    expect(await b.counts()).toEqual({ runs: 5, effects: 10, arrivals: 10 });
  });

  test('20 times in one SQL statement', async () => {
    const b = await bench();
    const rows = await b.rows<{ run_id: string; created: boolean }>(
      `select d.run_id, d.created from generate_series(1, 20) n, lateral comanda.decide(jsonb_build_object('key', 'k', 'effects', jsonb_build_array(jsonb_build_object('kind', 'refund', 'payload', n - n)))) d`,
    );
    expect([rows.length, created(rows), new Set(rows.map((row) => row.run_id)).size]).toEqual([20, 1, 1]);
    expect(await b.counts()).toMatchObject({ runs: 1, effects: 1 });
  });

  test('20 connections with different content: one decision, 19 typed conflicts', async () => {
    const b = await bench(20);
    const db = pgStandalone(b.pool);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => thrownBy(decideStandalone(db, one('k', n)))),
    );
    expect(outcomes.filter((error) => error === undefined)).toHaveLength(1);
    expect(outcomes.filter((error) => error?.['code'] === 'COMANDA_KEY_CONFLICT')).toHaveLength(19);
    expect(await b.counts()).toMatchObject({ runs: 1, effects: 1 });
  });

  test('the winner rolls back: the next in line decides', async () => {
    const b = await bench();
    const first = await b.db.connect();
    await first.query('begin');
    await decide(pgTransaction(first), one('k', 1));
    const second = b.decide(one('k', 2));
    await first.query('rollback');
    expect(await second).toMatchObject({ created: true });
    expect(await b.value('select payload from comanda.effect')).toBe('2');
  });
});

describe('a conflict', () => {
  test('from TypeScript is a typed error, and the transaction goes on and commits', async () => {
    const b = await bench();
    await b.decide(one('k', { amount: 1 }));
    await b.transaction(async (tx, client) => {
      await client.query('create table mine (id int)');
      expect(await thrownBy(decide(tx, one('k', { amount: 2 })))).toMatchObject({
        code: 'COMANDA_KEY_CONFLICT',
        sqlstate: 'CM001',
      });
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
      expect(await decide(tx, one('other', 1))).toMatchObject({ created: true });
    });
    expect(await b.value(`select to_regclass('mine') is not null`)).toBe(true);
    expect(await b.counts()).toMatchObject({ runs: 2, effects: 2 });
  });

  test('from SQL is raised as CM001, with what was decided before', async () => {
    const b = await bench();
    const made = await b.decide(one('k', { amount: 1 }));
    const error = await thrownBy(b.rows(`select * from comanda.decide('{"key":"k","effects":[]}')`));
    expect(error).toMatchObject({
      code: 'CM001',
      message: expect.stringMatching(/^k: the key was decided at .* with other content/),
    });
    expect(JSON.parse(String(error?.['detail']))).toMatchObject({
      key: 'k',
      runId: made.runId,
      storedHash: made.effectsHash,
    });
    expect(error?.['hint']).toContain('new key');
  });

  test.each([
    ['{"effects":[]}', 'CM002'],
    ['{"key":"k","effects":[{"kind":"a","payload":1e1000}]}', 'CM003'],
    [`{"key":"k","effects":[{"kind":"a","payload":"${'x'.repeat(1_048_576)}"}]}`, 'CM004'],
    [
      `{"key":"k","effects":[${Array.from({ length: 1001 }, (_, n) => `{"kind":"a","name":"${n}","orderingKey":"${n}"}`).join()}]}`,
      'CM005',
    ],
    ['{"key":"k","effects":[{"kind":"a","key":"x"},{"kind":"b","key":"x"}]}', 'CM006'],
  ])('the SQL door raises its own SQLSTATE for each refusal: %.40s %s', async (text, sqlstate) => {
    const b = await bench();
    expect(await thrownBy(b.rows('select * from comanda.decide($1::text::jsonb)', text))).toMatchObject({
      code: sqlstate,
    });
    expect(await b.counts()).toEqual({ runs: 0, effects: 0, arrivals: 0 });
  });
});

describe('R03: decideMany', () => {
  test('new, existing, new: one result per input, in order', async () => {
    const b = await bench();
    const existing = await b.decide(one('b', 2));
    const results = await b.transaction((tx) => decideMany(tx, [one('c', 3), one('b', 2), one('a', 1)]));
    expect(results).toEqual([
      expect.objectContaining({ key: 'c', created: true }),
      { ...existing, created: false },
      expect.objectContaining({ key: 'a', created: true }),
    ]);
    expect(await b.counts()).toMatchObject({ runs: 3, effects: 3 });
  });

  test('the same key twice is one decision; with other content the second is refused and the rest stands', async () => {
    const b = await bench();
    const results = await b.transaction((tx) =>
      decideMany(tx, [one('k', 1), one('k', 1), one('k', 2), one('l', 1), { key: '', effects: [] }]),
    );
    expect(results).toEqual([
      expect.objectContaining({ key: 'k', created: true }),
      expect.objectContaining({ key: 'k', created: false }),
      { refused: true, key: 'k', error: expect.objectContaining({ code: 'COMANDA_KEY_CONFLICT' }) },
      expect.objectContaining({ key: 'l', created: true }),
      { refused: true, key: '', error: expect.objectContaining({ code: 'COMANDA_INVALID_DECISION' }) },
    ]);
    expect(await b.counts()).toMatchObject({ runs: 2, effects: 2 });
  });

  test('no decisions are no rows; one that is no JSON refuses all, before SQL; too many are refused before SQL', async () => {
    const b = await bench();
    await b.transaction(async (tx, client) => {
      expect(await decideMany(tx, [])).toEqual([]);
      expect(await thrownBy(decideMany(tx, [one('a', 1), one('b', '\0')]))).toMatchObject({
        code: 'COMANDA_INVALID_PAYLOAD',
      });
      expect(
        await thrownBy(
          decideMany(
            tx,
            Array.from({ length: 10_001 }, (_, n) => one(`${n}`, n)),
          ),
        ),
      ).toMatchObject({ code: 'COMANDA_INVALID_DECISION' });
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
    expect(await b.counts()).toMatchObject({ runs: 0 });
  });

  test('D07: batches with their keys and explicit keys in any order never deadlock', async () => {
    const b = await bench(8);
    const rounds = 12;
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        const random = generator(worker);
        const shuffled = <Item>(items: Item[]): Item[] =>
          items
            .map((item) => ({ item, at: random() }))
            .sort((x, y) => x.at - y.at)
            .map(({ item }) => item);
        for (let round = 0; round < rounds; round++) {
          const keys = Array.from({ length: 20 }, (_unused, n) => `${round}:${n}`);
          const batch = shuffled(keys).map((key) => ({
            key,
            effects: [
              { kind: 'refund', key: `explicit ${key}`, orderingKey: `lane ${key.length}` },
              { kind: 'mail', orderingKey: `m${key.at(-1)}` },
            ],
          }));
          const results = await b.transaction((tx) => decideMany(tx, batch));
          expect(results.every((result) => !('refused' in result))).toBe(true);
        }
      }),
    ).then(
      () => 'no deadlock',
      (error: unknown) => error,
    );
    expect(outcomes).toBe('no deadlock');
    expect(await b.counts()).toEqual({ runs: 20 * rounds, effects: 40 * rounds, arrivals: 40 * rounds });
  });
});

test('R08: three clients run the documented single statement with one event id: one decision, and the others can branch on it', async () => {
  const b = await bench(3);
  const statement = `select run_id, created from comanda.decide(jsonb_build_object(
    'key', 'shopify:' || $1::text, 'subject', 'order:' || $1::text,
    'effects', jsonb_build_array(jsonb_build_object('kind', 'issue_refund', 'payload', jsonb_build_object('orderId', $1::text)))))`;
  const clients = await Promise.all([1, 2, 3].map(() => b.db.connect()));
  for (let event = 0; event < 20; event++) {
    const rows = (await Promise.all(clients.map((client) => client.query(statement, [`evt-${event}`])))).map(
      (answer) => answer.rows[0],
    );
    expect(rows.filter((row) => row.created)).toHaveLength(1);
    expect(new Set(rows.map((row) => row.run_id)).size).toBe(1);
  }
  expect(await b.counts()).toEqual({ runs: 20, effects: 20, arrivals: 20 });
});

/** Repeatable numbers in [0, 1). */
function generator(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}
