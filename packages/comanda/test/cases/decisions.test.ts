import { readFileSync } from 'node:fs';
import { createDatabase, eventually, startGateway, type TestDatabase } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { inPgTransaction, pgListener, pgStandalone } from '../../src/adapters/pg/index.js';
import { completed, decide, decideMany, decideStandalone, defineEffect, isComandaError } from '../../src/index.js';
import { createRelay } from '../../src/relay/index.js';
import { httpEffect } from '../../src/transports/http/index.js';

const one = (payload: unknown) => [{ kind: 'note', payload }];

async function count(database: TestDatabase, table: 'run' | 'effect'): Promise<number> {
  const client = await database.connect();
  const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from comanda.${table}`);
  return rows[0]?.n ?? -1;
}

describe('payloads', () => {
  it.each([
    ['P01: U+0000', 'a\u0000b'],
    ['P03: a high surrogate alone', '\ud835'],
    ['P03: a low surrogate alone', '\udc00x'],
  ])('%s is refused with its path before any SQL, and the transaction goes on', async (_, note) => {
    const database = await createDatabase();
    await inPgTransaction(database.pool(), async (tx, client) => {
      const refused = await decide(tx, { key: 'k1', effects: one({ note }) }).catch((error: unknown) => error);
      expect(isComandaError(refused, 'COMANDA_INVALID_PAYLOAD') && refused.details).toMatchObject({ path: '$.note' });
      expect((await client.query('select 1 as one', [])).rows).toEqual([{ one: 1 }]);
      await decide(tx, { key: 'k2', effects: one({ note: 'whole' }) });
    });
    expect(await count(database, 'run')).toBe(1);
  });

  it('P01, P03: from plain SQL the statement fails and leaves nothing', async () => {
    const database = await createDatabase();
    const client = await database.connect();
    for (const [written, code] of [
      ['\\u0000', '22P05'],
      ['\\ud835', '22P02'],
    ] as const) {
      const json = `{"key": "k", "effects": [{"kind": "note", "payload": {"note": "a${written}"}}]}`;
      await expect(client.query('select comanda.decide($1::text::jsonb)', [json])).rejects.toMatchObject({ code });
    }
    expect(await count(database, 'run')).toBe(0);
  });

  it('P05: digits beyond 2^53 travel from plain SQL to the provider', async () => {
    const database = await createDatabase();
    const gateway = await startGateway();
    const client = await database.connect();
    await client.query(
      `select comanda.decide('{"key": "k", "effects": [{"kind": "order", "payload": {"orderId": 1533947986218845197}}]}')`,
    );
    const relay = createRelay({
      database: pgStandalone(database.pool()),
      effects: [
        httpEffect({
          kind: 'order',
          risk: 'irreversible',
          idempotency: 'key',
          request: { url: `${gateway.url}/orders` },
          allowPrivateAddresses: true,
        }),
      ],
    });
    await relay.drain();
    expect(gateway.entries('accepted').map(({ body }) => body)).toEqual(['{"orderId": 1533947986218845197}']);
  });

  it('P07: other order and spacing is the same decision, other content is a conflict, and the stored hash re-verifies', async () => {
    const database = await createDatabase();
    const client = await database.connect();
    const decided = async (payload: string): Promise<unknown> =>
      (
        await client.query('select status from comanda.try_decide($1::text::jsonb)', [
          `{"key": "k", "subject": "order:1", "effects": [{"kind": "note", "payload": ${payload}}]}`,
        ])
      ).rows[0]?.status;
    expect(await decided('{"a":1,"b":{"c":2,"d":3}}')).toBe('decided');
    expect(await decided('{ "b" : {"d": 3,\n"c": 2}, "a": 1 }')).toBe('existing');
    expect(await decided('{"a":1,"b":{"c":2,"d":4}}')).toBe('conflict');
    expect(await count(database, 'effect')).toBe(1);
    const { rows } = await client.query(
      `select r.effects_hash = sha256(convert_to(r.subject || chr(10) || comanda.effect_content(e.name, e.kind, e.kind_version, e.payload, e.explicit_key, e.ordering_key, e.subject_version), 'UTF8')) as same
         from comanda.run r join comanda.effect e on e.run_id = r.id`,
    );
    expect(rows).toEqual([{ same: true }]);
  });
});

describe('the same key', () => {
  it('R01: 20 connections at the same moment get one decision, created once', async () => {
    const database = await createDatabase();
    const clients = await Promise.all(Array.from({ length: 20 }, () => database.connect()));
    for (let round = 0; round < 10; round += 1) {
      const decision = { key: `k${round}`, effects: one({ round }) };
      const all = await Promise.all(clients.map((client) => decideStandalone(pgStandalone(client), decision)));
      expect(new Set(all.map(({ runId }) => runId)).size).toBe(1);
      expect(all[0]?.runId).toMatch(/^\d+$/);
      expect(all.filter(({ created }) => created)).toHaveLength(1);
    }
    expect(await count(database, 'effect')).toBe(10);
  });

  it('R03: a batch has one answer per decision, in order; duplicates in it are one decision', async () => {
    const database = await createDatabase();
    const pool = database.pool();
    await decideStandalone(pgStandalone(pool), { key: 'known', effects: one(1) });
    const keys = ['z', 'known', 'a', 'z'];
    const answers = await inPgTransaction(pool, (tx) =>
      decideMany(
        tx,
        keys.map((key) => ({ key, effects: one(1) })),
      ),
    );
    expect(answers.map((answer) => ('refused' in answer ? 'refused' : `${answer.key} ${answer.created}`))).toEqual([
      'z true',
      'known false',
      'a true',
      'z false',
    ]);
    const other = await inPgTransaction(pool, (tx) =>
      decideMany(tx, [
        { key: 'new', effects: [] },
        { key: 'known', effects: one(2) },
      ]),
    );
    expect(other).toMatchObject([
      { key: 'new', created: true },
      { refused: true, key: 'known', error: { code: 'COMANDA_KEY_CONFLICT' } },
    ]);
    expect(await count(database, 'run')).toBe(4);
  });

  it('R08: three clients run the documented statement at once: one decision, one effect, two know that they were not first', async () => {
    const database = await createDatabase();
    const text = readFileSync(new URL('../../../../docs/snippets/decide-from-sql.sql', import.meta.url), 'utf8');
    const statement = /-- #region one-statement\n([\s\S]*?)-- #endregion/.exec(text)?.[1] ?? '';
    const clients = await Promise.all([database.connect(), database.connect(), database.connect()]);
    await clients[0]?.query(
      `create table orders (id text primary key, status text, total numeric, currency text); insert into orders values ('ORD-2041', 'paid', 2154.00, 'MXN')`,
    );
    const answers = await Promise.all(
      clients.map(async (client) => (await client.query<{ run_id: string; created: boolean }>(statement)).rows[0]),
    );
    expect(new Set(answers.map((row) => row?.run_id)).size).toBe(1);
    expect(answers.map((row) => row?.created).sort()).toEqual([false, false, true]);
    expect(await count(database, 'effect')).toBe(1);
  });
});

describe('wake-up', () => {
  it('N01: large payloads commit and are delivered; a notification carries nothing', async () => {
    const database = await createDatabase();
    const [client, ear] = await Promise.all([database.connect(), database.connect()]);
    await client.query('update comanda.installation set payload_max_bytes = 8388608');
    const heard: (string | undefined)[] = [];
    ear.on('notification', ({ payload }) => heard.push(payload));
    const { rows } = await client.query('select comanda.wake_channel() as channel');
    await ear.query(`listen ${rows[0]?.channel}`);
    for (const bytes of [9_000, 5_000_000]) {
      await decideStandalone(pgStandalone(client), {
        key: `k${bytes}`,
        effects: [{ kind: 'large', payload: { text: 'x'.repeat(bytes) } }],
      });
    }
    await eventually(() => heard.length > 0, { what: 'a notification' });
    const sizes: number[] = [];
    const large = defineEffect<{ text: string }>({
      kind: 'large',
      idempotency: 'key',
      perform: async ({ text }) => {
        sizes.push(text.length);
        return completed();
      },
    });
    const relay = createRelay({
      database: pgStandalone(database.pool()),
      listener: pgListener({ connectionString: database.url }),
      effects: [large],
    });
    await relay.drain();
    expect(sizes.sort((a, b) => a - b)).toEqual([9_000, 5_000_000]);
    expect(new Set(heard)).toEqual(new Set(['']));
  });

  it('N04: at most one notification per transaction, and none while a relay looks anyway', async () => {
    const database = await createDatabase();
    const [client, ear] = await Promise.all([database.connect(), database.connect()]);
    const heard: (string | undefined)[] = [];
    ear.on('notification', ({ payload }) => heard.push(payload));
    const { rows } = await client.query<{ channel: string }>('select comanda.wake_channel() as channel');
    const channel = rows[0]?.channel ?? '';
    await ear.query(`listen ${channel}`);
    /** How many came since the last call. They come in the order of commits, so all have come when the one sent here has. */
    const told = async (): Promise<number> => {
      await client.query(`select pg_notify($1, 'that is all')`, [channel]);
      await eventually(() => heard.includes('that is all'), { what: 'the last notification' });
      return heard.splice(0).length - 1;
    };
    const five = (prefix: string): string =>
      Array.from(
        { length: 5 },
        (_, i) =>
          `select comanda.decide('{"key":"${prefix}${i}","effects":[{"kind":"note"},{"kind":"note","name":"keyed","orderingKey":"o"}]}');`,
      ).join('');
    await client.query(`begin; ${five('a')} commit`);
    expect(await told()).toBe(1);
    await client.query('select comanda.set_awake(-1)');
    await client.query(`begin; ${five('b')} commit`);
    expect(await told()).toBe(0);
  });
});
