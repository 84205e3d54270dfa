import { eventually } from '@comanda/test-support';
import { decide } from 'comanda';
import { pgTransaction } from 'comanda/adapters/pg';
import { describe, expect, test } from 'vitest';
import { bench, LOCK_WAITS, thrownBy } from './kit.js';

const IDENTITIES = `select coalesce(e.explicit_key, r.key || '/' || e.name) as key from comanda.effect e join comanda.run r on r.id = e.run_id order by e.id`;

const inventory = (key: string, skus: readonly string[]) => ({
  key,
  subject: 'order:ORD-2041',
  effects: skus.map((sku) => ({
    kind: 'inventory_sync',
    name: sku,
    key: `inventory:ORD-2041:${sku}`,
    payload: { sku, delta: -1 },
  })),
});
const SKUS = ['CF-ARA-500', 'TE-CHM-100', 'CF-DEC-250'];

test('three lines of one order: three effects with keys of their own, atomically with the decision', async () => {
  const b = await bench();
  await b.decide(inventory('inventory:ORD-2041', SKUS));
  expect(await b.rows(IDENTITIES)).toEqual(SKUS.map((sku) => ({ key: `inventory:ORD-2041:${sku}` })));
  expect(await b.decide(inventory('inventory:ORD-2041', SKUS))).toMatchObject({ created: false });
  expect(await b.counts()).toEqual({ runs: 1, effects: 3, arrivals: 3 });
});

describe('a key that another effect has', () => {
  test('is refused by its name; nothing of the decision stays, and the transaction goes on', async () => {
    const b = await bench();
    await b.decide(inventory('first', ['TE-CHM-100']));
    await b.transaction(async (tx, client) => {
      const error = await thrownBy(decide(tx, inventory('second', SKUS)));
      expect(error).toMatchObject({ code: 'COMANDA_EXPLICIT_KEY_TAKEN', sqlstate: 'CM006', retryable: false });
      expect(String(error?.['message'])).toContain('"inventory:ORD-2041:TE-CHM-100"');
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
      expect(await decide(tx, inventory('second', ['CF-ARA-500']))).toMatchObject({ created: true });
    });
    expect(await b.rows('select key from comanda.effect_key order by key')).toEqual([
      { key: 'inventory:ORD-2041:CF-ARA-500' },
      { key: 'inventory:ORD-2041:TE-CHM-100' },
    ]);
    expect(await b.counts()).toEqual({ runs: 2, effects: 2, arrivals: 2 });
  });

  test('twice in one decision is refused too', async () => {
    const b = await bench();
    const twice = { key: 'k', effects: ['a', 'b'].map((name) => ({ kind: 'x', name, key: 'same' })) };
    expect(await thrownBy(b.decide(twice))).toMatchObject({ code: 'COMANDA_EXPLICIT_KEY_TAKEN' });
    expect(await b.value('select count(*)::int from comanda.effect_key')).toBe(0);
  });

  test.each([
    ['commit', 'COMANDA_EXPLICIT_KEY_TAKEN'],
    ['rollback', undefined],
  ])('in a race of two transactions the second waits for the first to %s', async (end, code) => {
    const b = await bench();
    const first = await b.db.connect();
    await first.query('begin');
    await decide(pgTransaction(first), inventory('first', SKUS));
    const second = thrownBy(b.decide(inventory('second', [...SKUS].reverse())));
    await eventually(async () => (await b.value<number>(LOCK_WAITS)) === 1, { what: 'the second to wait for the key' });
    await first.query(end);
    expect((await second)?.['code']).toBe(code);
    expect(await b.counts()).toEqual({ runs: 1, effects: 3, arrivals: 3 });
  });

  test('many at once: one has it', async () => {
    const b = await bench(16);
    const outcomes = await Promise.all(
      Array.from({ length: 16 }, (_, n) => thrownBy(b.decide(inventory(`k${n}`, SKUS)))),
    );
    expect(outcomes.filter((error) => error === undefined)).toHaveLength(1);
    expect(new Set(outcomes.map((error) => error?.['code']))).toEqual(
      new Set([undefined, 'COMANDA_EXPLICIT_KEY_TAKEN']),
    );
    expect(await b.counts()).toMatchObject({ runs: 1, effects: 3 });
  });
});

describe('derived keys', () => {
  test('cannot meet: the last slash ends the decision, and neither names nor explicit keys hold one', async () => {
    const b = await bench();
    await b.decide({ key: 'a/b', effects: [{ kind: 'c' }] });
    await b.decide({ key: 'a', effects: [{ kind: 'x', name: 'b' }] });
    for (const effect of [{ kind: 'k', name: 'b/c' }, { kind: 'b/c' }, { kind: 'k', key: 'a/b/c' }]) {
      expect(await thrownBy(b.decide({ key: 'a2', effects: [effect] }))).toMatchObject({
        code: 'COMANDA_INVALID_DECISION',
        message: expect.stringContaining('"/"'),
      });
    }
    await b.decide({ key: 'a3', effects: [{ kind: 'b/c', name: 'bc' }] });
    expect(await b.rows(IDENTITIES)).toEqual([{ key: 'a/b/c' }, { key: 'a/b' }, { key: 'a3/bc' }]);
  });

  test('two effects of one name are refused; a name makes them two', async () => {
    const b = await bench();
    const pair = [{ kind: 'mail' }, { kind: 'mail' }];
    expect(await thrownBy(b.decide({ key: 'k', effects: pair }))).toMatchObject({
      code: 'COMANDA_INVALID_DECISION',
      message: expect.stringContaining('two effects have the name "mail"'),
    });
    await b.decide({ key: 'k', effects: [{ kind: 'mail' }, { kind: 'mail', name: 'copy' }] });
    expect(await b.rows(IDENTITIES)).toEqual([{ key: 'k/mail' }, { key: 'k/copy' }]);
  });
});
