import { describe, expect, test } from 'vitest';
import { engine, type Row } from './kit/engine.js';
import { decide, route, states } from './kit/steps.js';

/** The statuses that try_decide gives to these decisions, one after the other. */
async function statuses(decisions: readonly Row[]): Promise<string[]> {
  const s = await engine();
  const said: string[] = [];
  for (const decision of decisions)
    said.push(String((await s.call<{ status: string }>('try_decide', decision))[0]?.status));
  return said;
}

const one = (payload: unknown, more: Row = {}): Row => ({ key: 'k', effects: [{ kind: 'mail', payload }], ...more });

describe('the same key', () => {
  test('with the same content is the same decision, whoever says it and however it is spelled', async () => {
    const s = await engine();
    const spelled = (text: string) =>
      s.row<{ status: string }>('select status from comanda.try_decide($1::text::jsonb)', [text]);
    expect(await spelled('{"key":"k","effects":[{"kind":"mail","payload":{"a":1,"b":[true,null]}}]}')).toEqual({
      status: 'decided',
    });
    const same =
      '{ "effects": [ {"payload": {"b": [true, null], "a": 1e0}, "kind": "mail"} ], "key": "k", "actor": {"type": "human", "id": "x"}, "reason": "again", "headers": {"traceparent": "00-1"} }';
    expect(await spelled(same)).toEqual({ status: 'existing' });
    expect(await s.row('select count(*) as n from comanda.effect')).toEqual({ n: 1 });
  });

  test.each([
    ['another payload', one({ a: 2 })],
    ['another subject', one({ a: 1 }, { subject: 'order:1' })],
    ['another kind', { key: 'k', effects: [{ kind: 'sms', payload: { a: 1 } }] }],
    ['another version', { key: 'k', effects: [{ kind: 'mail', version: 2, payload: { a: 1 } }] }],
    ['another name', { key: 'k', effects: [{ kind: 'mail', name: 'b', payload: { a: 1 } }] }],
    ['an ordering key', { key: 'k', effects: [{ kind: 'mail', orderingKey: 'x', payload: { a: 1 } }] }],
    ['an explicit key', { key: 'k', effects: [{ kind: 'mail', key: 'x', payload: { a: 1 } }] }],
    ['a subject version', { key: 'k', effects: [{ kind: 'mail', subjectVersion: 1, payload: { a: 1 } }] }],
    ['one effect more', { key: 'k', effects: [{ kind: 'mail', payload: { a: 1 } }, { kind: 'sms' }] }],
    ['no effect', { key: 'k', effects: [] }],
  ])('with %s is a conflict', async (_, other) => {
    expect(await statuses([one({ a: 1 }), other, one({ a: 1 })])).toEqual(['decided', 'conflict', 'existing']);
  });

  test('cannot be had by a subject that spells what follows it', async () => {
    const s = await engine();
    await s.call('decide', { key: 'k', subject: 'a', effects: [{ kind: 'mail', payload: 1 }] });
    const { content } = await s.row<{ content: string }>(
      `select comanda.effect_content('mail', 'mail', 1, '1', null, null, null) as content`,
    );
    expect(await s.call('try_decide', { key: 'k', subject: `a\n${content}`, effects: [] })).toEqual([
      expect.objectContaining({ status: 'conflict' }),
    ]);
  });

  test('tells the same moment each time', async () => {
    const s = await engine();
    await s.rows('begin');
    const [first] = await s.call<{ decided_at: Date; effects_hash: string }>('decide', one(1));
    await s.rows('commit');
    const [again] = await s.call<{ decided_at: Date; effects_hash: string }>('decide', one(1));
    expect(again).toMatchObject({ decided_at: first?.decided_at, effects_hash: first?.effects_hash });
  });

  test('R01: decided at once by many is one decision, and each of them gets its row', async () => {
    const s = await engine();
    const sessions = await Promise.all(Array.from({ length: 8 }, () => s.session()));
    const rows = (
      await Promise.all(sessions.map((x) => x.call<{ created: boolean; run_id: number }>('decide', one(1))))
    ).flat();
    expect(rows).toHaveLength(8);
    expect(rows.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(rows.map(({ run_id }) => run_id)).size).toBe(1);
    expect(await s.row('select count(*) as n from comanda.effect')).toEqual({ n: 1 });
  });

  test('under REPEATABLE READ, committed meanwhile by another: 40001', async () => {
    const s = await engine();
    await s.rows('begin isolation level repeatable read');
    await s.rows('select 1');
    await s.rows('select count(*) from comanda.run');
    await decide(await s.session(), 'k', [{}]);
    expect(await s.sqlstate(`select * from comanda.try_decide('{"key":"k","effects":[{"kind":"mail"}]}')`)).toBe(
      '40001',
    );
  });
});

describe('a refusal', () => {
  const effect = (more: Row): Row => ({ key: 'k', effects: [{ kind: 'mail', ...more }] });
  test.each<[string, unknown, string]>([
    ['no object', [], 'invalid'],
    ['no key', { effects: [] }, 'invalid'],
    ['an empty key', { key: '', effects: [] }, 'invalid'],
    ['a key of 513 bytes', { key: `${'é'.repeat(256)}x`, effects: [] }, 'invalid'],
    ['no effects', { key: 'k' }, 'invalid'],
    ['an unknown member', { key: 'k', effects: [], priority: 1 }, 'invalid'],
    ['a reason that is no text', { key: 'k', effects: [], reason: 1 }, 'invalid'],
    ['an actor of no known type', { key: 'k', effects: [], actor: { type: 'Agent', id: 'x' } }, 'invalid'],
    [
      'an agent that hides in the chain',
      { key: 'k', effects: [], actor: { type: 'human', id: 'x', onBehalfOf: { type: 'AGENT', id: 'y' } } },
      'invalid',
    ],
    [
      'a chain under another name',
      { key: 'k', effects: [], actor: { type: 'human', id: 'x', on_behalf_of: { type: 'agent', id: 'y' } } },
      'invalid',
    ],
    ['repairs that are no integer', { key: 'k', effects: [], repairs: 1.5 }, 'invalid'],
    ['headers that are no texts', { key: 'k', effects: [], headers: { a: 1 } }, 'invalid'],
    ['headers of more than 16 KiB', effect({ headers: { a: 'x'.repeat(16_384) } }), 'invalid'],
    ['two effects of one name', { key: 'k', effects: [{ kind: 'mail' }, { kind: 'mail' }] }, 'invalid'],
    ['a name with a slash', effect({ name: 'a/b' }), 'invalid'],
    ['an explicit key with a slash', effect({ key: 'a/b' }), 'invalid'],
    ['an unknown member of an effect', effect({ retries: 3 }), 'invalid'],
    ['a version that is no integer', effect({ version: 1.5 }), 'invalid'],
    ['a delay of 401 days', effect({ delayMs: 401 * 86_400_000 }), 'invalid'],
    ['a negative delay', effect({ delayMs: -1 }), 'invalid'],
    ['a delay and a moment', effect({ delayMs: 1, dueAt: '2026-03-08T02:30:00Z' }), 'invalid'],
  ])('of %s is a row, writes nothing and leaves the transaction usable', async (_, decision, status) => {
    const s = await engine();
    await s.rows('begin');
    expect(await s.call('try_decide', decision)).toEqual([
      expect.objectContaining({ status, created: false, problem: expect.any(String) }),
    ]);
    await decide(s, 'after', [{ orderingKey: 'a' }]);
    await s.rows('commit');
    expect(await s.rows('select key from comanda.run')).toEqual([{ key: 'after' }]);
  });

  test('of numbers that would print as megabytes, wherever they stand', async () => {
    const s = await engine();
    for (const payload of [
      '[1e9999]',
      '{"a":[-1e9999]}',
      '1e-9999',
      `[${Array.from({ length: 900 }, () => '1e5000').join(',')}]`,
    ]) {
      const text = `{"key":"k","effects":[{"kind":"mail","payload":${payload}}]}`;
      expect(await s.row('select status from comanda.try_decide($1::text::jsonb)', [text])).toEqual({
        status: 'invalid_payload',
      });
    }
    expect(
      await s.row('select status from comanda.try_decide($1::text::jsonb)', [
        '{"key":"k","effects":[{"kind":"mail","payload":[1e999, 1e-999, 0e9999]}]}',
      ]),
    ).toEqual({ status: 'decided' });
  });

  test('of a payload beyond the limit of the installation, also of a low one', async () => {
    const s = await engine();
    const sized = (bytes: number) => ({
      key: `k${bytes}`,
      effects: [{ kind: 'mail', payload: 'x'.repeat(bytes - 2) }],
    });
    const said = async (bytes: number) => (await s.call<{ status: string }>('try_decide', sized(bytes)))[0]?.status;
    expect([await said(1_048_576), await said(1_048_577)]).toEqual(['decided', 'too_large']);
    await s.rows('update comanda.installation set payload_max_bytes = 1024');
    expect([await said(1024), await said(1025)]).toEqual(['decided', 'too_large']);
  });

  test('of an explicit key that is taken: by another effect, or twice here; nothing stays', async () => {
    const s = await engine();
    await decide(s, 'first', [{ key: 'mine' }]);
    for (const effects of [
      [{ kind: 'mail', key: 'mine' }],
      [
        { kind: 'a', key: 'x' },
        { kind: 'b', key: 'x' },
      ],
    ]) {
      expect(await s.call('try_decide', { key: 'second', effects })).toEqual([
        expect.objectContaining({ status: 'key_taken' }),
      ]);
    }
    expect(await s.rows('select key from comanda.run')).toEqual([{ key: 'first' }]);
    expect(await s.rows('select key from comanda.effect_key')).toEqual([{ key: 'mine' }]);
  });

  test.each([
    ['{"key":"taken","effects":[{"kind":"mail","payload":2}]}', 'CM001'],
    ['{"key":"k"}', 'CM002'],
    ['{"key":"k","effects":[{"kind":"mail","payload":1e9999}]}', 'CM003'],
    ['{"key":"k","effects":[{"kind":"mail","key":"mine"}]}', 'CM006'],
  ])('%s is raised by decide() as %s', async (decision, code) => {
    const s = await engine();
    await decide(s, 'taken', [{ payload: 1, key: 'mine' }]);
    expect(await s.sqlstate('select * from comanda.decide($1::text::jsonb)', [decision])).toBe(code);
  });
});

test('R03: decide_many gives a row for each, in the order given; duplicates are one decision, a refusal is its own', async () => {
  const s = await engine();
  await decide(s, 'taken', [{ payload: 1 }]);
  const rows = await s.call<{ n: number; status: string }>('decide_many', [
    one(1, { key: 'z' }),
    one(2, { key: 'taken' }),
    one(3, { key: 'a' }),
    one(1, { key: 'z' }),
    { key: '' },
  ]);
  expect(rows.map(({ n, status }) => [n, status])).toEqual([
    [0, 'decided'],
    [1, 'conflict'],
    [2, 'decided'],
    [3, 'existing'],
    [4, 'invalid'],
  ]);
  expect(await s.sqlstate(`select * from comanda.decide_many('{}')`)).toBe('CM002');
});

test('two batches with the same keys in opposite order do not deadlock', async () => {
  const s = await engine();
  const other = await s.session();
  const batch = (keys: readonly string[]) => keys.map((key) => one(1, { key }));
  for (let round = 0; round < 15; round++) {
    const keys = Array.from({ length: 20 }, (_, i) => `${round} ${i}`);
    await Promise.all([s.call('decide_many', batch(keys)), other.call('decide_many', batch(keys.toReversed()))]);
  }
  expect(await s.row('select count(*) as n from comanda.run')).toEqual({ n: 300 });
});

test('the target is what the deployment published, not what a caller says', async () => {
  const s = await engine();
  await s.call('publish_kinds', {
    by: 'x',
    kinds: [
      {
        kind: 'mail',
        version: 1,
        target: 'smtp',
        risk: 'reversible',
        idempotency: 'key',
        onUnknown: 'reconcile',
        maxAttempts: 3,
        timeoutMs: 1,
      },
    ],
  });
  await decide(s, 'k', [
    { target: 'elsewhere' },
    { name: 'other', kind: 'sms', target: 'carrier' },
    { name: 'plain', kind: 'push' },
  ]);
  expect(await s.rows('select target from comanda.effect order by id')).toEqual(
    ['smtp', 'carrier', 'push'].map((target) => ({ target })),
  );
});

test('a decision says who stands behind it: an agent anywhere in the chain, or a model', async () => {
  const s = await engine();
  const by: [string, Row, boolean][] = [
    ['human', { actor: { type: 'human', id: 'ada' } }, false],
    ['nobody', {}, false],
    ['null', { actor: null, model: null }, false],
    ['agent', { actor: { type: 'agent', id: 'gpt' } }, true],
    [
      'behalf',
      {
        actor: {
          type: 'system',
          id: 'n8n',
          onBehalfOf: { type: 'human', id: 'ada', onBehalfOf: { type: 'agent', id: 'gpt' } },
        },
      },
      true,
    ],
    ['model', { actor: { type: 'human', id: 'ada' }, model: 'gpt-9' }, true],
    ['an agent by name only', { actor: { type: 'human', id: 'agent' } }, false],
  ];
  for (const [key, more] of by) await decide(s, key, [], more);
  expect(await s.rows('select key, by_agent from comanda.run order by id')).toEqual(
    by.map(([key, , by_agent]) => ({ key, by_agent })),
  );
});

test('an effect is decided once, and stands in exactly one place', async () => {
  const s = await engine();
  const ids = await decide(s, 'k', [
    { name: 'a' },
    { name: 'b', orderingKey: 'x' },
    { name: 'c', delayMs: 1000 },
    { name: 'd', cancelWindowMs: 1000 },
  ]);
  expect(await states(s, ids)).toEqual(['pending', 'pending', 'waiting', 'waiting']);
  await route(s);
  expect(await states(s, ids)).toEqual(['pending', 'pending', 'waiting', 'waiting']);
});
