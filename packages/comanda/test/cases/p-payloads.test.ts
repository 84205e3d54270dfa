import { decide, decideStandalone, rawJson } from 'comanda';
import { pgStandalone } from 'comanda/adapters/pg';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bench, one, thrownBy } from './kit.js';

const HIGH = '\ud835';
const LOW = '\udc00';

describe('P01 and P03: what PostgreSQL cannot store is refused before any SQL', () => {
  test.each([
    ['P01 NUL in a text', { note: 'a\0b' }, '$.note'],
    ['P01 NUL in a name', { 'a\0b': 1 }, '$["a\ufffdb"]'],
    ['P01 NUL deep inside', { items: [{ notes: ['ok', 'a\0'] }] }, '$.items[0].notes[1]'],
    ['P03 a lone high surrogate', { t: HIGH }, '$.t'],
    ['P03 a lone low surrogate before text', { t: `${LOW}x` }, '$.t'],
    ['P03 the two halves in the wrong order', { t: LOW + HIGH }, '$.t'],
    ['not a number', { amount: Number.NaN }, '$.amount'],
    ['infinity', [1, Number.POSITIVE_INFINITY], '$[1]'],
    ['a function', { f: () => 1 }, '$.f'],
    ['an integer of 1001 digits', { n: 10n ** 1000n }, '$.n'],
  ])('%s: typed, with the path, and the transaction goes on', async (_, payload, path) => {
    const b = await bench();
    await b.transaction(async (tx, client) => {
      const error = await thrownBy(decide(tx, one('k1', payload)));
      expect(error).toMatchObject({ code: 'COMANDA_INVALID_PAYLOAD', details: { path, effect: 'refund' } });
      expect(String(error?.['message'])).toContain(path);
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
    expect(await b.counts()).toEqual({ runs: 0, effects: 0, arrivals: 0 });
    expect(await b.decide(one('k1', { note: 'fine' }))).toMatchObject({ created: true });
  });

  test('a key, a subject or a header is refused in the same way, as a part of the decision', async () => {
    const b = await bench();
    const broken = [
      [{ key: 'a\0', effects: [] }, '$.key'],
      [{ key: 'a', subject: HIGH, effects: [] }, '$.subject'],
      [{ key: 'a', effects: [{ kind: 'k', headers: { traceparent: '\0' } }] }, '$.effects[0].headers.traceparent'],
      [{ key: 'a', effects: [{ kind: 'k', dueAt: new Date(Number.NaN) }] }, '$.effects[0].dueAt'],
    ] as const;
    for (const [decision, path] of broken) {
      expect(await thrownBy(b.decide(decision))).toMatchObject({ code: 'COMANDA_INVALID_DECISION', details: { path } });
    }
  });

  test.each([
    ['P01', '{"key":"k","effects":[{"kind":"refund","payload":{"note":"a\\u0000b"}}]}', '22P05'],
    ['P03', '{"key":"k","effects":[{"kind":"refund","payload":{"t":"\\ud835"}}]}', '22P02'],
  ])('%s from plain SQL: the statement fails and leaves nothing', async (_, text, sqlstate) => {
    const b = await bench();
    expect(await thrownBy(b.rows('select * from comanda.decide($1::text::jsonb)', text))).toMatchObject({
      code: sqlstate,
    });
    expect(await b.counts()).toEqual({ runs: 0, effects: 0, arrivals: 0 });
  });
});

describe('P05: no digit changes', () => {
  test('plain SQL: an order number beyond 2^53 arrives in effect.payload as it was', async () => {
    const b = await bench();
    await b.rows(
      `select * from comanda.decide('{"key":"k","effects":[{"kind":"sync","payload":{"orderId":1533947986218845197}}]}'::jsonb)`,
    );
    expect(await b.value('select payload from comanda.effect')).toBe('{"orderId": 1533947986218845197}');
  });

  test.each([
    ['bigint', { orderId: 1533947986218845197n }, '{"orderId": 1533947986218845197}'],
    ['amounts keep their zeros', { amount: rawJson('2154.00') }, '{"amount": 2154.00}'],
    ['1.0 stays 1.0', { n: rawJson('1.0') }, '{"n": 1.0}'],
    ['exponents are printed out', [1e3, rawJson('1e-7'), rawJson('1.5E2')], '[1000, 0.0000001, 150]'],
    ['minus zero is zero', [-0, rawJson('-0')], '[0, 0]'],
    ['30 digits', { n: rawJson('123456789012345678901234567890.10') }, '{"n": 123456789012345678901234567890.10}'],
  ])('TypeScript: %s', async (_, payload, stored) => {
    const b = await bench();
    await b.decide(one('k', payload));
    expect(await b.value('select payload from comanda.effect')).toBe(stored);
  });

  test.each(['1e1000', '-1e1000', '1e-1001', '1e131000', `{"a":[{"b":[${'1e100000,'.repeat(500)}0]}]}`])(
    'a number of more than 1000 digits is refused before it is printed: %.40s',
    async (payload) => {
      const b = await bench();
      const [row] = await b.rows(
        'select status, problem from comanda.try_decide($1::text::jsonb)',
        `{"key":"k","effects":[{"kind":"x","payload":${payload}}]}`,
      );
      expect(row).toEqual({
        status: 'invalid_payload',
        problem: expect.stringContaining('effects[0]: a number has more than 1000 digits'),
      });
      expect(await b.counts()).toMatchObject({ runs: 0 });
    },
  );

  test('numbers of up to 1000 digits are fine', async () => {
    const b = await bench();
    const payload = [rawJson('1e999'), rawJson('1e-1000'), rawJson('9'.repeat(1000)), 'text of 1e1000 and 2e2000'];
    expect(await b.decide(one('k', payload))).toMatchObject({ created: true });
  });
});

describe('P07: the hash is of what is stored', () => {
  const first = '{"a":1,"b":{"c":2,"d":3}}';

  test('keys in another order and other white space are the same decision; another value is a conflict', async () => {
    const b = await bench();
    const made = await b.decide(one('k', rawJson(first)));
    const again = await b.decide(one('k', rawJson(' {"b" : {"d":3,\n"c":2}, "a": 1} ')));
    expect(again).toEqual({ ...made, created: false });
    const conflict = await thrownBy(b.decide(one('k', rawJson('{"a":1,"b":{"c":2,"d":4}}'))));
    expect(conflict).toMatchObject({
      code: 'COMANDA_KEY_CONFLICT',
      sqlstate: 'CM001',
      retryable: false,
      details: { key: 'k', runId: made.runId, storedHash: made.effectsHash, firstSeenAt: made.decidedAt },
    });
    expect(await b.counts()).toMatchObject({ runs: 1, effects: 1 });
  });

  test('the stored hash is verified from the stored rows', async () => {
    const b = await bench();
    await b.decide({
      key: 'k',
      subject: 'order:ORD-2041',
      effects: [
        { kind: 'refund', payload: { amount: rawJson('2154.00'), note: 'é 😀' }, orderingKey: 'o', subjectVersion: 7 },
        { kind: 'mail', name: 'to customer', version: 2, key: 'mail:1', payload: rawJson('[1e3, "\\u0001"]') },
        { kind: 'sync' },
      ],
    });
    await b.decide({ key: 'none', effects: [] });
    const verified =
      await b.rows(`select r.key, r.effects_hash = sha256(convert_to(to_json(r.subject)::text || chr(10) || coalesce((
        select string_agg(comanda.effect_content(e.name, e.kind, e.kind_version, e.payload, e.explicit_key, e.ordering_key, e.subject_version), chr(10) order by e.id)
          from comanda.effect e where e.run_id = r.id), ''), 'UTF8')) as holds
      from comanda.run r order by r.id`);
    expect(verified).toEqual([
      { key: 'k', holds: true },
      { key: 'none', holds: true },
    ]);
  });

  test.each([
    ['1.0 and 1', '{"n":1.0}', '{"n":1}'],
    ['2154.00 and 2154', '{"n":2154.00}', '{"n":2154}'],
    ['é in one and in two characters', '"\u00e9"', '"e\u0301"'],
    ['null and nothing', 'null', '{}'],
    ['the order of a list', '[1,2]', '[2,1]'],
    ['a text and a number', '"1"', '1'],
  ])('%s are different', async (_, left, right) => {
    const b = await bench();
    await b.decide(one('k', rawJson(left)));
    expect(await thrownBy(b.decide(one('k', rawJson(right))))).toMatchObject({ code: 'COMANDA_KEY_CONFLICT' });
  });

  test.each([
    ['1e3 and 1000', '[1e3]', '[1000]'],
    ['-0 and 0', '[-0]', '[0]'],
    ['0.10e1 and 1.0', '[0.10e1]', '[1.0]'],
    ['an escape and its character', '["\\u00e9"]', '["é"]'],
    ['a name given twice and its last value', '{"a":1,"a":2}', '{"a":2}'],
  ])('%s are the same', async (_, left, right) => {
    const b = await bench();
    await b.decide(one('k', rawJson(left)));
    expect(await b.decide(one('k', rawJson(right)))).toMatchObject({ created: false });
  });

  test('actor, reason, headers, target and time of execution are not part of what is compared', async () => {
    const b = await bench();
    await b.decide({ ...one('k', 1), actor: { type: 'human', id: 'ana' }, reason: 'a', headers: { traceparent: '1' } });
    const again = await b.decide({
      ...one('k', 1, { target: 'elsewhere', delayMs: 5, headers: { traceparent: '2' } }),
      reason: 'b',
    });
    expect(again.created).toBe(false);
    for (const other of [
      { ...one('k', 1), subject: 'order:1' },
      one('k', 1, { name: 'other' }),
      one('k', 1, { version: 2 }),
      one('k', 1, { key: 'explicit' }),
      one('k', 1, { orderingKey: 'o' }),
      one('k', 1, { subjectVersion: 1 }),
    ]) {
      expect(await thrownBy(b.decide(other))).toMatchObject({ code: 'COMANDA_KEY_CONFLICT' });
    }
  });
});

describe('the limit of a payload', () => {
  test('5 MB is refused by default, and taken once the installation allows it (N01)', async () => {
    const b = await bench();
    const large = one('k', { text: 'x'.repeat(5_000_000) });
    await b.transaction(async (tx, client) => {
      expect(await thrownBy(decide(tx, large))).toMatchObject({ code: 'COMANDA_TOO_LARGE', sqlstate: 'CM004' });
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
    await b.rows('update comanda.installation set payload_max_bytes = 6000000');
    expect(await b.decide(large)).toMatchObject({ created: true });
    expect(await b.value('select octet_length(payload) from comanda.effect')).toBe(5_000_012);
  });

  test('it is counted in bytes as stored, and a lowered one is obeyed too', async () => {
    const b = await bench();
    await b.rows('update comanda.installation set payload_max_bytes = 2000');
    expect(await b.decide(one('a', '😀'.repeat(499)))).toMatchObject({ created: true });
    expect(await thrownBy(b.decide(one('b', '😀'.repeat(500))))).toMatchObject({ code: 'COMANDA_TOO_LARGE' });
  });
});

test('any JSON value that is accepted arrives as the same JSON; everything else is refused before SQL', async () => {
  const b = await bench(1);
  const db = pgStandalone(b.pool);
  // The whole range of what a program may hand over: odd texts, bigint, and things that are no JSON at all.
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('\0', HIGH, LOW, '\u2028', '__proto__', ''),
  );
  const leaf = fc.oneof(
    text,
    fc.double(),
    fc.integer(),
    fc.bigInt(),
    fc.boolean(),
    fc.constant(null),
    fc.constant(undefined),
    fc.constant(10n ** 1001n),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('tree')), fc.dictionary(text, tie('tree'))),
  }));
  let n = 0;
  await fc.assert(
    fc.asyncProperty(tree, async (payload) => {
      n += 1;
      const error = await thrownBy(decideStandalone(db, one(`fuzz:${n}`, payload)));
      const [stored] = await b.rows<{ payload: string }>(
        'select e.payload from comanda.effect e join comanda.run r on r.id = e.run_id where r.key = $1',
        `fuzz:${n}`,
      );
      if (error === undefined) {
        // bigint has no JSON.stringify: its digits are compared by the database as numbers.
        const expected =
          payload === undefined
            ? '{}'
            : JSON.stringify(payload, (_, value) => (typeof value === 'bigint' ? rawNumber(value) : value));
        const literal = expected.replaceAll(/"bigint:(-?\d+)"/g, '$1');
        expect(await b.value('select $1::text::jsonb = $2::text::jsonb', stored?.payload, literal)).toBe(true);
        expect(await b.value('select $1::text = $2::text::jsonb::text', stored?.payload, stored?.payload)).toBe(true);
      } else {
        expect(error).toMatchObject({
          code: 'COMANDA_INVALID_PAYLOAD',
          details: { path: expect.stringMatching(/^\$/) },
        });
        expect(error['sqlstate']).toBe('CM003');
        expect(error['cause']).toBeUndefined();
        expect(stored).toBeUndefined();
      }
    }),
    { numRuns: 300 },
  );
});

function rawNumber(value: bigint): string {
  return `bigint:${value}`;
}
