import { eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { completed } from '../../src/index.js';
import { bench, counting } from './setup.js';

/** A random number generator whose seed can be printed. */
function generator(seed: number): () => number {
  let x = seed >>> 0;
  return () => {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) >>> 0;
    return x / 2 ** 32;
  };
}

describe('timing', () => {
  it('cancel against claim, 1 000 random interleavings: cancelled and never sent, or sent and told too late', async () => {
    const b = await bench(20);
    const seed = Date.now() % 100_000;
    const random = generator(seed);
    const sent = new Map<string, number>();
    const act = (kind: string, idempotency: 'key' | 'none') =>
      counting(
        kind,
        async (_input, context) => {
          sent.set(context.idempotencyKey, (sent.get(context.idempotencyKey) ?? 0) + 1);
          // A handler that takes a moment, so that requests also meet effects in flight.
          await new Promise((resolve) => setImmediate(resolve));
          return completed();
        },
        { idempotency, concurrency: 8, ...(idempotency === 'none' ? { onUnknown: 'ask-human' as const } : {}) },
      );
    const effects = [act('keyed', 'key'), act('blind', 'none')];
    await Promise.all([1, 2].map((n) => b.relay({ effects, lease: 5_000, random: generator(seed + n) }).start()));
    const answers = new Map<string, string>();
    const one = async (i: number): Promise<void> => {
      const kind = i % 2 === 0 ? 'keyed' : 'blind';
      // Every third in a lane of few, so that cancelled ones also have others before and behind them.
      const more = i % 3 === 0 ? { orderingKey: `lane-${i % 12}` } : {};
      await b.effect(`c${i}`, kind, more);
      const turns = Math.floor(random() * 40);
      for (let n = 0; n < turns; n += 1) await new Promise((resolve) => setImmediate(resolve));
      const rows = await b.rows<{ answer: string }>('select answer from comanda.cancel($1::text::jsonb)', [
        JSON.stringify({ key: `c${i}`, by: 'ana', reason: 'test' }),
      ]);
      answers.set(`c${i}/${kind}`, rows[0]?.answer ?? 'none');
    };
    for (let i = 0; i < 1_000; i += 10) await Promise.all(Array.from({ length: 10 }, (_, n) => one(i + n)));
    await eventually(
      async () => (await b.rows(`select 1 from comanda.effect_request where answered_at is null`)).length === 0,
      { what: `every request answered (seed ${seed})` },
    );
    await eventually(async () => Object.values(await b.states()).every((s) => s === 'completed' || s === 'cancelled'), {
      what: `every effect at its end (seed ${seed})`,
      withinMs: 30_000,
    });
    const said = new Map(
      (
        await b.rows<{ k: string; answer: string }>(
          `select s.idempotency_key as k, q.answer from comanda.effect_request q join comanda.effect_state s using (effect_id)`,
        )
      ).map((row) => [row.k, row.answer]),
    );
    const wrong: string[] = [];
    let cancelled = 0;
    for (const [key, state] of Object.entries(await b.states())) {
      const answer = said.get(key) ?? answers.get(key);
      const times = sent.get(key) ?? 0;
      const fits = state === 'cancelled' ? times === 0 && answer === 'cancelled' : times === 1 && answer === 'too late';
      cancelled += state === 'cancelled' ? 1 : 0;
      if (!fits) wrong.push(`${key}: ${state}, sent ${times} times, told "${answer}"`);
    }
    expect(wrong, `seed ${seed}`).toEqual([]);
    // Neither side always wins, or nothing was tried.
    expect(cancelled, `seed ${seed}`).toBeGreaterThan(0);
    expect(cancelled, `seed ${seed}`).toBeLessThan(1_000);
    expect(await b.unattended()).toBe(0);
  });

  it('stale: of ten versions that waited, the newest is sent and the others are cancelled, also across lanes', async () => {
    const b = await bench();
    const stock = counting('stock', () => completed(), { idempotency: 'natural', stale: 'skip', concurrency: 1 });
    for (let v = 1; v <= 10; v += 1) {
      await b.decide({
        key: `v${v}`,
        subject: 'item:7',
        effects: [
          { kind: 'stock', payload: { v }, subjectVersion: v, ...(v % 2 === 0 ? { orderingKey: 'item:7' } : {}) },
        ],
      });
    }
    await b.relay({ effects: [stock] }).start();
    await eventually(async () => Object.values(await b.states()).every((s) => s !== 'pending' && s !== 'sending'), {
      what: 'all ends',
    });
    expect([...stock.calls.keys()]).toEqual(['v10/stock']);
    expect(
      await b.rows(
        `select distinct state, reason, settled_by like 'relay-%' as by_relay from comanda.outcome order by 1`,
      ),
    ).toEqual([
      { state: 'cancelled', reason: 'stale: a newer version of its subject was decided', by_relay: true },
      { state: 'completed', reason: null, by_relay: true },
    ]);
  });

  it('maximum age: what waited too long is cancelled unsent, and what is behind it goes on', async () => {
    const b = await bench();
    const code = counting('code', () => completed(), { maxAge: '15m' });
    const note = counting('note');
    await b.effect('old', 'code', { orderingKey: 'ana' });
    await b.effect('behind', 'note', { orderingKey: 'ana' });
    await b.rows(`update comanda.effect set created_at = created_at - interval '16 minutes' where kind = 'code'`);
    await b.effect('new', 'code');
    await b.relay({ effects: [code, note] }).start();
    await eventually(async () => Object.values(await b.states()).every((s) => s === 'completed' || s === 'cancelled'), {
      what: 'all ends',
    });
    expect(await b.states()).toEqual({ 'old/code': 'cancelled', 'behind/note': 'completed', 'new/code': 'completed' });
    expect(await b.rows(`select reason from comanda.outcome where state = 'cancelled'`)).toEqual([
      { reason: 'too old: it was not sent within 15m' },
    ]);
  });

  it('T07: what became due while nobody was looking is done once, by whoever comes first', async () => {
    const b = await bench();
    const note = counting('note');
    await b.effect('missed', 'note', { delayMs: 60_000 });
    await b.rows(`update comanda.waiting set next_at = clock_timestamp() - interval '130 seconds'`);
    const relays = [1, 2, 3].map(() => b.relay({ effects: [note] }));
    await Promise.all(relays.map((relay) => relay.start()));
    await eventually(async () => (await b.states())['missed/note'] === 'completed', { what: 'the missed effect' });
    await Promise.all(relays.map((relay) => relay.stop()));
    expect([...note.calls]).toEqual([['missed/note', 1]]);
  });
});
