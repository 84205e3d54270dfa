import { eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { applied } from '../../src/index.js';
import { bench, counting } from './setup.js';

const state = async (b: Awaited<ReturnType<typeof bench>>, key: string) => (await b.states())[key];

describe('what a hostile reading found', () => {
  it('a late `completed` is kept, also after the same relay had to guess first', async () => {
    const b = await bench();
    await b.effect('x', 'mail');
    const late = (outcome: string) =>
      b.rows<{ kept: boolean }>('select kept from comanda.late_evidence($1::text::jsonb)', [
        JSON.stringify({
          relay: 'r',
          items: [
            { fence: 1, effect: '1', attempt: 1, outcome, ...(outcome === 'completed' ? { providerId: 're_1' } : {}) },
          ],
        }),
      ]);
    expect(await late('unknown')).toEqual([{ kept: true }]);
    expect(await late('completed')).toEqual([{ kept: true }]);
    expect(await late('completed')).toEqual([{ kept: false }]);
    expect(await late('unknown'), 'a guess says nothing beside it').toEqual([{ kept: false }]);
    expect(await b.rows(`select provider_id from comanda.attempt where outcome = 'completed'`)).toEqual([
      { provider_id: 're_1' },
    ]);
  });

  it.each(['hold', 'stop'])('look-ups go on while everything is off (%s), and nothing is sent', async (mode) => {
    const b = await bench();
    const mail = counting('mail', () => ({ outcome: 'unknown' }), {
      idempotency: 'none',
      timeout: 200,
      reconcile: async () => applied({ providerId: 'p1' }),
    });
    await b.effect('x', 'mail');
    const first = b.relay({ effects: [mail], lease: 600 });
    await first.start();
    await eventually(async () => (await state(b, 'x/mail')) === 'unknown', { what: 'unknown' });
    await b.rows('select * from comanda.switch_set($1::text::jsonb)', [
      JSON.stringify({ scope: 'all', mode, by: 'ana', reason: 'test' }),
    ]);
    await b.effect('y', 'mail');
    await eventually(async () => (await state(b, 'x/mail')) === 'completed', { what: 'the look-up' });
    expect([...mail.calls.keys()]).toEqual(['x/mail']);
  });

  it('a check of payloads that never ends gives its place back, and stop() does not wait for it', async () => {
    const b = await bench();
    const never = { '~standard': { validate: () => new Promise<never>(() => undefined) } };
    const odd = counting('odd', undefined, { input: never, timeout: 200, concurrency: 1 });
    await b.effect('a', 'odd');
    const relay = b.relay({ effects: [odd] });
    await relay.start();
    await eventually(
      async () => (await b.rows('select 1 from comanda.lane where owner is null and attempt = 1')).length === 1,
      {
        what: 'the place given back, the attempt counted',
      },
    );
    await relay.stop();
    expect(relay.status().lanes).toBe(0);
  });

  it.each([
    ['none', 'failed', 'worker lost: 3 processes died before they executed it'],
    // Nothing says that none of them had sent it.
    [
      'key',
      'unknown',
      'unknown: 3 attempts ended without a word, or with their process; it may have happened and only a person can tell',
    ],
  ] as const)('deaths use up the attempts of a kind with idempotency %s: %s', async (idempotency, end, reason) => {
    const b = await bench();
    const poison = counting('poison', undefined, {
      retry: { maxAttempts: 3 },
      ...(idempotency === 'none' ? { idempotency, onUnknown: 'ask-human' } : {}),
    });
    await b.effect('x', 'poison');
    await b.rows(`select * from comanda.route('{"relay":"dead","leaseMs":1,"kinds":[{"kind":"poison","lanes":1}]}')`);
    for (let death = 2; death <= 3; death += 1) {
      await eventually(
        async () =>
          (
            await b.rows(
              `select * from comanda.claim('{"relay":"dead","leaseMs":1,"kinds":[{"kind":"poison","lanes":1,"batch":1}]}')`,
            )
          ).length === 1,
        { what: `death ${death}` },
      );
    }
    await b.relay({ effects: [poison] }).start();
    await eventually(async () => (await state(b, 'x/poison')) === end, { what: 'the quarantine' });
    expect(poison.calls.size).toBe(0);
    expect(
      await b.rows(
        'select reason from comanda.outcome union all select parked_by from comanda.lane where parked_by is not null',
      ),
    ).toEqual([{ reason }]);
  });

  it('sent by a deployment whose kind had no key: looked up by the next one, which knows a key', async () => {
    const b = await bench();
    let looks = 0;
    const pay = counting('pay', undefined, {
      timeout: 100,
      reconcile: async () => {
        looks += 1;
        return applied();
      },
    });
    await b.effect('x', 'pay');
    await b.rows(`select * from comanda.route('{"relay":"old","leaseMs":60000,"kinds":[{"kind":"pay","lanes":1}]}')`);
    await b.rows(
      `select * from comanda.may_send(jsonb_build_object('relay', 'old', 'floor', 'none', 'items', (select jsonb_agg(jsonb_build_object('lane', lane, 'fence', fence, 'effect', 1, 'attempt', 1, 'mark', true)) from comanda.lane)))`,
    );
    await b.rows(`update comanda.lane set ready_at = clock_timestamp()`);
    await b.relay({ effects: [pay], lease: 500 }).start();
    await eventually(async () => (await state(b, 'x/pay')) === 'completed', { what: 'the look-up' });
    expect([looks, pay.calls.size]).toEqual([1, 0]);
  });

  it('natural: refused after an uncertain try is unknown, not failed', async () => {
    const b = await bench();
    let tries = 0;
    const remove = counting(
      'remove',
      () => {
        tries += 1;
        return tries === 1 ? { outcome: 'retry', notSent: false } : { outcome: 'failed', status: 404 };
      },
      { idempotency: 'natural', timeout: 200, reconcile: async () => applied() },
    );
    await b.effect('x', 'remove');
    await b.relay({ effects: [remove], lease: 500 }).start();
    await eventually(async () => (await state(b, 'x/remove')) === 'completed', { what: 'the look-up' });
    expect(tries).toBe(2);
  });

  it.each(['repeatable read', 'serializable'])('transactions that are %s: refused by name, or safe', async (level) => {
    const b = await bench();
    await b.rows(`alter database ${b.database.name} set default_transaction_isolation = '${level}'`);
    // Not through a pooler: its server connections were opened before the setting, and keep their own.
    const pool = b.database.pool(4, { connectionString: b.database.url });
    const note = counting('note');
    await b.effect('x', 'note', { orderingKey: 'k' });
    const relay = b.relay({ effects: [note], database: pgStandalone(pool) });
    if (level === 'repeatable read') {
      await expect(relay.start()).rejects.toThrow(/REPEATABLE READ/);
      return;
    }
    await relay.start();
    await eventually(async () => (await state(b, 'x/note')) === 'completed', { what: 'the note' });
    expect(await b.unattended()).toBe(0);
  });
});
