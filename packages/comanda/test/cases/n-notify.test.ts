import { eventually } from '@comanda/test-support';
import { decide, decideStandalone } from 'comanda';
import { pgStandalone, pgTransaction } from 'comanda/adapters/pg';
import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { type Bench, bench, one } from './kit.js';

const ASLEEP = 'select comanda.set_awake(0)';
const NEVER_NOTIFY = 'select comanda.set_awake(-1)';

interface Ears {
  readonly client: pg.Client;
  readonly heard: string[];
}

/** A plain LISTEN client on the product's channel. */
async function listen(b: Bench): Promise<Ears> {
  const client = await b.db.connect();
  const heard: string[] = [];
  client.on('notification', (message) => heard.push(message.payload ?? ''));
  const channel = await b.value<string>('select comanda.wake_channel()');
  await client.query(`listen "${channel}"`);
  return { client, heard };
}

/** Everything that was sent before is heard when this has come back. */
async function quiet({ client, heard }: Ears, b: Bench): Promise<string[]> {
  const channel = await b.value<string>('select comanda.wake_channel()');
  await b.rows('select pg_notify($1, $2)', channel, 'mark');
  await eventually(async () => {
    await client.query('select 1');
    return heard.includes('mark');
  });
  return heard.splice(0).filter((payload) => payload !== 'mark');
}

describe('N01 and N02: a notification carries nothing', () => {
  test('N01: a payload of 9 kB and one of 5 MB commit, and the channel hears an empty body', async () => {
    const b = await bench();
    const ears = await listen(b);
    await b.rows('update comanda.installation set payload_max_bytes = 6000000');
    for (const [key, bytes] of [
      ['nine', 9_000],
      ['five', 5_000_000],
    ] as const) {
      await b.rows(ASLEEP);
      await b.decide(one(key, 'x'.repeat(bytes), { orderingKey: key }));
    }
    expect(await quiet(ears, b)).toEqual(['', '']);
  });

  test('N02: keys, subjects and kinds of four-byte characters, up to the limits in bytes', async () => {
    const b = await bench();
    const ears = await listen(b);
    await b.rows(ASLEEP);
    const wide = (bytes: number): string => '😀'.repeat(bytes / 4);
    const decided = await b.decide({
      key: wide(512),
      subject: wide(512),
      kind: wide(128),
      effects: [
        { kind: wide(128), payload: 1, orderingKey: wide(512), target: wide(128) },
        { kind: 'k', name: '🦜'.repeat(32), key: wide(512), payload: 2 },
      ],
    });
    expect(decided).toMatchObject({ created: true, key: wide(512) });
    expect(await quiet(ears, b)).toEqual(['']);
  });

  test.each([
    ['key', { key: '😀'.repeat(129), effects: [] }, '"key" has 516 bytes; the limit is 512 bytes of UTF-8'],
    ['subject', { key: 'k', subject: '😀'.repeat(129), effects: [] }, '"subject" has 516 bytes; the limit is 512'],
    ['kind', { key: 'k', effects: [{ kind: '😀'.repeat(33) }] }, '"kind" must be a string of 1 to 128 bytes'],
    [
      'ordering key',
      { key: 'k', effects: [{ kind: 'a', orderingKey: '😀'.repeat(129) }] },
      '"orderingKey" must be a string of 1 to 512 bytes',
    ],
  ])('N02: one byte too many in the %s is refused by its bytes', async (_, decision, problem) => {
    const b = await bench();
    await expect(b.decide(decision)).rejects.toMatchObject({
      code: 'COMANDA_INVALID_DECISION',
      message: expect.stringContaining(problem),
    });
  });
});

test('N03: a listener that sits in an open transaction disturbs neither decisions nor their arrival', async () => {
  const b = await bench();
  const { client } = await listen(b);
  await client.query('begin');
  await client.query('select 1');
  await b.rows(ASLEEP);
  for (let n = 0; n < 20; n++) await b.decide(one(`n03:${n}`, n, n % 2 === 0 ? { orderingKey: 'lane' } : {}));
  expect(await b.counts()).toEqual({ runs: 20, effects: 20, arrivals: 20 });
  await client.query('rollback');
});

describe('N04: at most one notification per transaction, and none where somebody looks anyway', () => {
  test('a transaction of many decisions, keyed and not, sends one', async () => {
    const b = await bench();
    const ears = await listen(b);
    await b.rows(ASLEEP);
    await b.transaction(async (tx) => {
      for (let n = 0; n < 10; n++) await decide(tx, one(`a:${n}`, n, n % 2 === 0 ? { orderingKey: `lane ${n}` } : {}));
      expect(ears.heard).toEqual([]);
    });
    expect(await quiet(ears, b)).toEqual(['']);
  });

  test('a transaction that is rolled back, or decides nothing new, or decides for later, sends none', async () => {
    const b = await bench();
    await b.decide(one('known', 1));
    const ears = await listen(b);
    await b.rows(ASLEEP);
    await b
      .transaction(async (tx) => {
        await decide(tx, one('gone', 1));
        throw new Error('rolled back');
      })
      .catch(() => undefined);
    await b.rows(ASLEEP);
    await b.decide(one('known', 1));
    await b.decide(one('later', 1, { delayMs: 60_000 }));
    await b.decide({ key: 'none', effects: [] });
    expect(await quiet(ears, b)).toEqual([]);
  });

  test('while a relay is awake nobody notifies, in every isolation level; asleep again, the next one does', async () => {
    const b = await bench();
    const ears = await listen(b);
    const client = await b.db.connect();
    await client.query('begin isolation level repeatable read');
    await client.query('select 1');
    await b.rows('select comanda.set_awake(60000)');
    await decide(pgTransaction(client), one('rr', 1));
    await client.query('commit');
    await b.decide(one('rc', 1, { orderingKey: 'o' }));
    expect(await quiet(ears, b)).toEqual([]);
    await b.rows(ASLEEP);
    await b.decide(one('next', 1, { orderingKey: 'o' }));
    expect(await quiet(ears, b)).toEqual(['']);
  });

  test.each([
    ['on', ASLEEP],
    ['off', NEVER_NOTIFY],
  ])(
    '32 writers with the wake-up %s: every decision commits, and a crowd does not notify one by one',
    async (mode, prepare) => {
      const b = await bench(32);
      const ears = await listen(b);
      await b.rows(prepare);
      const db = pgStandalone(b.pool);
      const started = performance.now();
      await Promise.all(
        Array.from({ length: 320 }, (_, n) =>
          decideStandalone(db, one(`w:${n}`, n, n % 2 === 0 ? { orderingKey: `o${n % 7}` } : {})),
        ),
      );
      const took = performance.now() - started;
      expect(await b.counts()).toEqual({ runs: 320, effects: 320, arrivals: 320 });
      const sent = (await quiet(ears, b)).length;
      if (mode === 'off') expect(sent).toBe(0);
      else expect(sent).toBeGreaterThan(0);
      // One each 20 ms, and those who looked in the same instant.
      expect(sent).toBeLessThanOrEqual(Math.ceil(took / 20) * 4 + 32);
    },
  );
});
