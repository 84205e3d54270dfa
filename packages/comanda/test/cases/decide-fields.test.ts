import { type Actor, type Decision, decide } from 'comanda';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bench, one, thrownBy } from './kit.js';

describe('the actor', () => {
  const agent: Actor = { type: 'agent', id: 'refund-bot' };
  const human: Actor = { type: 'human', id: 'ana' };
  const system: Actor = { type: 'system', id: 'cron' };

  test.each<[string, Partial<Decision>, boolean]>([
    ['nobody', {}, false],
    ['a person', { actor: human }, false],
    ['an agent', { actor: agent }, true],
    ['a system for an agent', { actor: { ...system, onBehalfOf: agent } }, true],
    ['a person for a system for an agent', { actor: { ...human, onBehalfOf: { ...system, onBehalfOf: agent } } }, true],
    ['an agent for a person', { actor: { ...agent, onBehalfOf: human } }, true],
    [
      'a person called agent',
      { actor: { type: 'human', id: 'agent', onBehalfOf: { type: 'human', id: 'agent' } } },
      false,
    ],
    ['a system with a model', { actor: system, model: 'm-1' }, true],
    ['a revision of a model only', { modelRevision: 'r-1' }, true],
  ])('%s: by_agent', async (_, fields, byAgent) => {
    const b = await bench();
    await b.decide({ ...one('k', 1), ...fields });
    expect(await b.value('select by_agent from comanda.run')).toBe(byAgent);
  });

  test('the chain is kept', async () => {
    const b = await bench();
    const onBehalfOf: Actor = { type: 'system', id: 's', onBehalfOf: human };
    await b.decide({ key: 'k', actor: { type: 'agent', id: 'a', onBehalfOf }, effects: [] });
    expect(await b.rows('select actor_type, actor_id, on_behalf_of from comanda.run')).toEqual([
      { actor_type: 'agent', actor_id: 'a', on_behalf_of: onBehalfOf },
    ]);
  });

  test.each([
    ['a word', '"ana"'],
    ['an unknown type', '{"type":"robot","id":"x"}'],
    ['no id', '{"type":"agent"}'],
    [
      'a misspelt chain, which would hide an agent',
      '{"type":"human","id":"a","on_behalf_of":{"type":"agent","id":"b"}}',
    ],
    [
      'a broken link of the chain',
      '{"type":"human","id":"a","onBehalfOf":{"type":"human","onBehalfOf":{"type":"agent","id":"b"}}}',
    ],
    [
      'a chain of kilobytes',
      `${'{"type":"human","id":"a","onBehalfOf":'.repeat(400)}{"type":"human","id":"z"}${'}'.repeat(400)}`,
    ],
  ])('%s is refused', async (_, actor) => {
    const b = await bench();
    const [row] = await b.rows(
      'select status, problem from comanda.try_decide($1::text::jsonb)',
      `{"key":"k","actor":${actor},"effects":[]}`,
    );
    expect(row).toEqual({ status: 'invalid', problem: expect.stringContaining('"actor" must be') });
  });
});

test('what is said about a decision is stored as said', async () => {
  const b = await bench();
  await b.decide({
    key: 'refund:ORD-2041',
    subject: 'order:ORD-2041',
    kind: 'refund',
    tenant: 'cumbre',
    reason: 'damaged',
    trigger: 'webhook:orders',
    workflowVersion: '3.1',
    endpointClass: 'eu',
    model: 'm',
    modelRevision: 'r',
    validation: 'ok',
    repairs: 2,
    output: '{}',
    effects: [],
  });
  expect(
    await b.rows(
      `select subject, kind, tenant, reason, trigger_origin, workflow_version, endpoint_class, model, model_revision, validation, repairs, output, state from comanda.run`,
    ),
  ).toEqual([
    {
      subject: 'order:ORD-2041',
      kind: 'refund',
      tenant: 'cumbre',
      reason: 'damaged',
      trigger_origin: 'webhook:orders',
      workflow_version: '3.1',
      endpoint_class: 'eu',
      model: 'm',
      model_revision: 'r',
      validation: 'ok',
      repairs: 2,
      output: '{}',
      state: 'decided',
    },
  ]);
});

test('headers: those of the decision, for each effect that has none of its own', async () => {
  const b = await bench();
  await b.decide({
    key: 'k',
    headers: { traceparent: '00-a' },
    effects: [{ kind: 'a' }, { kind: 'b', headers: { traceparent: '00-b' } }, { kind: 'c', headers: {} }],
  });
  expect(await b.rows('select name, headers from comanda.effect order by id')).toEqual([
    { name: 'a', headers: '{"traceparent": "00-a"}' },
    { name: 'b', headers: '{"traceparent": "00-b"}' },
    { name: 'c', headers: '{}' },
  ]);
});

test('target: what the deployment published goes before what the caller says, which goes before the kind', async () => {
  const b = await bench();
  await b.rows(
    `insert into comanda.effect_kind (kind, version, target, risk, idempotency, on_unknown, max_attempts, timeout_ms) values ('published', 2, 'payments', 'irreversible', 'key', 'ask-human', 8, 20000)`,
  );
  await b.decide({
    key: 'k',
    effects: [
      { kind: 'published', version: 2, target: 'mine' },
      { kind: 'published', name: 'old', target: 'mine' },
      { kind: 'plain' },
    ],
  });
  expect(await b.rows('select name, target, kind_version from comanda.effect order by id')).toEqual([
    { name: 'published', target: 'payments', kind_version: 2 },
    { name: 'old', target: 'mine', kind_version: 1 },
    { name: 'plain', target: 'plain', kind_version: 1 },
  ]);
});

describe('later', () => {
  test('delayMs, dueAt and cancelWindowMs wait with their reason, lane and moment, and do not arrive', async () => {
    const b = await bench();
    const dueAt = '2026-03-08T02:30:00.250-05:00';
    await b.decide({
      key: 'k',
      effects: [
        { kind: 'a', delayMs: 60_000, orderingKey: 'o' },
        { kind: 'b', dueAt },
        { kind: 'c', dueAt: new Date(dueAt) },
        { kind: 'd', cancelWindowMs: 0.5 },
        { kind: 'e' },
      ],
    });
    const waiting = await b.rows(`select e.name, e.waits, w.reason, replace(w.lane, e.id::text, 'ID') as lane, w.target,
        round(extract(epoch from w.next_at - r.created_at) * 1000) between 60000 and 60999 as in_a_minute, w.next_at = '${dueAt}' as at_due
      from comanda.waiting w join comanda.effect e on e.id = w.effect_id join comanda.run r on r.id = e.run_id order by e.id`);
    expect(waiting).toEqual([
      { name: 'a', waits: 'delayed', reason: 'delayed', lane: 'k:o', target: 'a', in_a_minute: true, at_due: false },
      { name: 'b', waits: 'delayed', reason: 'delayed', lane: 'e:ID', target: 'b', in_a_minute: false, at_due: true },
      { name: 'c', waits: 'delayed', reason: 'delayed', lane: 'e:ID', target: 'c', in_a_minute: false, at_due: true },
      { name: 'd', waits: 'window', reason: 'window', lane: 'e:ID', target: 'd', in_a_minute: false, at_due: false },
    ]);
    expect(await b.counts()).toEqual({ runs: 1, effects: 5, arrivals: 1 });
    expect(await b.rows('select * from comanda.unattended')).toEqual([]);
  });

  test.each([
    ['no offset', '2026-03-08T02:30:00'],
    ['the 30th of February', '2026-02-30T00:00:00Z'],
    ['the 25th hour', '2026-02-28T25:00:00Z'],
    ['words', 'tomorrow'],
    ['infinity', 'infinity'],
    ['beyond 400 days', '9999-12-31T23:59:59Z'],
  ])('dueAt: %s is refused, and the transaction goes on', async (_, dueAt) => {
    const b = await bench();
    await b.transaction(async (tx, client) => {
      expect(await thrownBy(decide(tx, one('k', 1, { dueAt })))).toMatchObject({
        code: 'COMANDA_INVALID_DECISION',
        message: expect.stringContaining('effects[0]: "dueAt" must be an ISO 8601 instant'),
      });
      expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    });
  });

  test('two ways of waiting at once are refused', async () => {
    const b = await bench();
    expect(await thrownBy(b.decide(one('k', 1, { delayMs: 1, cancelWindowMs: 1 })))).toMatchObject({
      code: 'COMANDA_INVALID_DECISION',
    });
  });
});

describe('the shape', () => {
  test.each([
    ['null', 'a decision is a JSON object'],
    ['[]', 'a decision is a JSON object'],
    ['{"effects":[]}', '"key" must be a non-empty string'],
    ['{"key":7,"effects":[]}', '"key" must be a non-empty string'],
    ['{"key":"k"}', '"effects" must be an array'],
    ['{"key":"k","effects":{}}', '"effects" must be an array'],
    ['{"key":"k","effects":[],"efects":[]}', 'unknown member "efects"'],
    ['{"key":"k","effects":[],"subject":5}', '"subject" must be a string'],
    ['{"key":"k","effects":[],"tenant":["a"]}', '"tenant" must be a string'],
    ['{"key":"k","effects":[],"repairs":1.5}', '"repairs" must be an integer from 0 to 1000'],
    ['{"key":"k","effects":[],"repairs":1e99}', '"repairs" must be an integer from 0 to 1000'],
    ['{"key":"k","effects":[],"headers":{"a":1}}', '"headers" must be an object of strings'],
    ['{"key":"k","effects":[],"headers":{"a":["x"]}}', '"headers" must be an object of strings'],
    ['{"key":"k","effects":[7]}', 'effects[0]: must be an object'],
    ['{"key":"k","effects":[{"kind":"a"},{"kind":""}]}', 'effects[1]: "kind" must be a string of 1 to 128 bytes'],
    ['{"key":"k","effects":[{"kind":"a","ordering_key":"o"}]}', 'effects[0]: unknown member "ordering_key"'],
    ['{"key":"k","effects":[{"kind":"a","version":"1"}]}', '"version" must be a positive integer'],
    ['{"key":"k","effects":[{"kind":"a","version":1.5}]}', '"version" must be a positive integer'],
    ['{"key":"k","effects":[{"kind":"a","subjectVersion":-1}]}', '"subjectVersion" must be an integer'],
    ['{"key":"k","effects":[{"kind":"a","delayMs":-1}]}', '"delayMs" must be a number of milliseconds'],
    ['{"key":"k","effects":[{"kind":"a","delayMs":"60000"}]}', '"delayMs" must be a number of milliseconds'],
    ['{"key":"k","effects":[{"kind":"a","orderingKey":""}]}', '"orderingKey" must be a string of 1 to 512 bytes'],
    [`{"key":"k","effects":[${'{"kind":"a"},'.repeat(10_000)}{"kind":"a"}]}`, '10001 effects in one decision'],
  ])('%.60s', async (text, problem) => {
    const b = await bench();
    const [row] = await b.rows('select status, created, problem from comanda.try_decide($1::text::jsonb)', text);
    expect(row).toEqual({ status: 'invalid', created: false, problem: expect.stringContaining(problem) });
    expect(await b.counts()).toEqual({ runs: 0, effects: 0, arrivals: 0 });
  });

  test('a JSON null is a member that is not there, except as a payload', async () => {
    const b = await bench();
    const nulls = `{"key":"k","subject":null,"kind":null,"actor":null,"tenant":null,"headers":null,"repairs":null,"model":null,"effects":[
      {"kind":"a","name":null,"version":null,"target":null,"key":null,"orderingKey":null,"subjectVersion":null,"headers":null,"delayMs":null,"dueAt":null,"cancelWindowMs":null,"payload":null}]}`;
    expect(await b.rows('select status from comanda.try_decide($1::text::jsonb)', nulls)).toEqual([
      { status: 'decided' },
    ]);
    expect(await b.rows('select by_agent, actor_type, on_behalf_of from comanda.run')).toEqual([
      { by_agent: false, actor_type: null, on_behalf_of: null },
    ]);
    expect(await b.rows('select name, target, headers, payload, ordering_key from comanda.effect')).toEqual([
      { name: 'a', target: 'a', headers: null, payload: 'null', ordering_key: null },
    ]);
    expect(
      await b.rows(
        'select status from comanda.try_decide($1::text::jsonb)',
        '{"key":"k","effects":[{"kind":"a","payload":null}]}',
      ),
    ).toEqual([{ status: 'existing' }]);
  });

  test('10000 effects in one decision', async () => {
    const b = await bench();
    await b.decide({
      key: 'k',
      effects: Array.from({ length: 10_000 }, (_, n) => ({ kind: 'a', name: String(n), payload: n })),
    });
    expect(await b.counts()).toEqual({ runs: 1, effects: 10_000, arrivals: 10_000 });
  });

  test('whatever JSON is thrown at the door, it answers with one row and never raises', async () => {
    const b = await bench(1);
    const names = [
      'key',
      'subject',
      'kind',
      'actor',
      'tenant',
      'headers',
      'repairs',
      'model',
      'effects',
      'output',
      'other',
    ];
    const parts = [
      'kind',
      'name',
      'version',
      'target',
      'payload',
      'key',
      'orderingKey',
      'subjectVersion',
      'headers',
      'delayMs',
      'dueAt',
      'cancelWindowMs',
      'x',
    ];
    const odd = fc.oneof(
      fc.constantFrom<unknown>(
        null,
        true,
        '',
        'a',
        'a/b',
        0,
        1,
        -1,
        1.5,
        1e300,
        2 ** 53,
        [],
        {},
        { a: 'b' },
        '2026-02-30T00:00:00Z',
        '2026-01-01T00:00:00Z',
        'x'.repeat(600),
      ),
      fc.jsonValue({ maxDepth: 2 }).filter((value) => !/\\u0000|\\ud/i.test(JSON.stringify(value))),
    );
    const effect = fc.oneof(fc.dictionary(fc.constantFrom(...parts), odd), odd);
    const effects = fc.oneof(fc.array(effect, { maxLength: 3 }), odd);
    const decision = fc.oneof(
      odd,
      fc
        .tuple(fc.dictionary(fc.constantFrom(...names), odd), effects, fc.nat(50))
        .map(([rest, list, n]) => ({ ...rest, key: `f${n}`, effects: list })),
      fc
        .tuple(fc.dictionary(fc.constantFrom(...names), odd), effects)
        .map(([rest, list]) => ({ ...rest, effects: list })),
    );
    await fc.assert(
      fc.asyncProperty(decision, async (value) => {
        const rows = await b.rows<{ status: string; created: boolean; problem: string | null }>(
          'select status, created, problem from comanda.try_decide($1::text::jsonb)',
          JSON.stringify(value),
        );
        expect(rows).toHaveLength(1);
        expect(rows[0]?.created).toBe(rows[0]?.status === 'decided');
        expect(rows[0]?.problem === null).toBe(['decided', 'existing'].includes(rows[0]?.status ?? ''));
      }),
      { numRuns: 600 },
    );
    expect(await b.rows('select * from comanda.unattended')).toEqual([]);
  });
});
