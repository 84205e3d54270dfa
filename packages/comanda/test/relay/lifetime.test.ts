import { eventually, startGateway } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { absent, applied, cannotTell, completed, type ReconcileResult, retry } from '../../src/index.js';
import { createRelay } from '../../src/relay/index.js';
import { bench, counting } from './setup.js';

/** A provider that forgets keys 2 s after their first use; lease 500 ms and timeout 400 ms fit into the margin. */
const FORGETS = { mode: 'key', lifetime: '2s', margin: '1s' } as const;
/** Answers are lost and patience is asked for, so that the second attempt would come 3 s after the first. */
const LATER_MS = 3_000;

const state = async (b: Awaited<ReturnType<typeof bench>>, key: string) => (await b.states())[key];

async function lostAnswer(reconcile?: (url: string, key: string) => Promise<ReconcileResult>) {
  const b = await bench();
  const gateway = await startGateway({ forgetful: true, control: { script: ['acceptDrop'] } });
  const pay = counting(
    'pay',
    async (_input, context) => {
      const answer = await fetch(`${gateway.url}/payments`, {
        method: 'POST',
        headers: { 'idempotency-key': context.idempotencyKey },
        body: context.payloadText,
      }).catch(() => undefined);
      return answer?.ok === true ? completed() : retry({ afterMs: LATER_MS });
    },
    {
      idempotency: FORGETS,
      timeout: 400,
      ...(reconcile === undefined
        ? { onUnknown: 'ask-human' as const }
        : { reconcile: (_input: unknown, context) => reconcile(gateway.url, context.idempotencyKey) }),
    },
  );
  await b.effect('H06', 'pay');
  const relay = b.relay({ effects: [pay], lease: 500 });
  await relay.start();
  return { b, gateway, pay };
}

const lookUp = async (url: string, key: string): Promise<ReconcileResult> => {
  const answer = await fetch(`${url}/payments?key=${encodeURIComponent(key)}`).catch(() => undefined);
  return answer?.status === 200 ? applied() : answer?.status === 404 ? absent() : cannotTell();
};

describe('H06: the provider forgets the key before the retry', () => {
  it('looked up first: one look-up, one acceptance, one request', async () => {
    const { b, gateway } = await lostAnswer(lookUp);
    await eventually(async () => (await state(b, 'H06/pay')) === 'completed', {
      what: 'the look-up',
      withinMs: 30_000,
    });
    expect(gateway.entries('received')).toHaveLength(1);
    expect(gateway.entries('accepted')).toHaveLength(1);
    expect(await b.rows(`select phase, outcome from comanda.attempt where phase <> 'start' order by at`)).toEqual([
      { phase: 'end', outcome: 'retry' },
      { phase: 'look', outcome: 'applied' },
    ]);
    expect(await b.unattended()).toBe(0);
  });

  it('without a look-up: unknown, one request, a person is asked', async () => {
    const { b, gateway } = await lostAnswer();
    await eventually(async () => (await state(b, 'H06/pay')) === 'unknown', { what: 'unknown' });
    expect(gateway.entries('received')).toHaveLength(1);
    expect(await b.rows('select what, reason from comanda.attention')).toEqual([
      { what: 'unknown outcome', reason: expect.stringContaining('may have forgotten its key') },
    ]);
    expect(await b.unattended()).toBe(0);
  });

  it('looked up and absent: sent once more, as to a target that knows no keys', async () => {
    const b = await bench();
    const seen: string[] = [];
    let looks = 0;
    const pay = counting(
      'pay',
      (_input, context) => {
        seen.push(context.idempotency);
        return seen.length === 1 ? retry({ afterMs: LATER_MS }) : completed();
      },
      {
        idempotency: FORGETS,
        timeout: 400,
        reconcile: async () => {
          looks += 1;
          return absent();
        },
      },
    );
    await b.effect('x', 'pay');
    await b.relay({ effects: [pay], lease: 500 }).start();
    await eventually(async () => (await state(b, 'x/pay')) === 'completed', {
      what: 'the second send',
      withinMs: 30_000,
    });
    expect(seen).toEqual(['key', 'none']);
    expect(looks).toBe(1);
    expect(await b.rows(`select phase, outcome from comanda.attempt order by at`)).toEqual([
      { phase: 'end', outcome: 'retry' },
      { phase: 'look', outcome: 'absent' },
      { phase: 'start', outcome: null },
      { phase: 'end', outcome: 'completed' },
    ]);
  });
});

describe('start-up refuses what cannot be safe', () => {
  const start =
    (more: Partial<Parameters<typeof counting>[2]>, lease: number | string = '30s') =>
    () =>
      createRelay({
        database: { query: async () => [] },
        effects: [counting('pay', undefined, { timeout: '20s', ...more })],
        lease,
      });

  it('a margin that is not longer than lease + timeout', () => {
    const short = { idempotency: { mode: 'key', lifetime: '1h', margin: '45s' } } as const;
    expect(start(short)).toThrow(/the margin of its key is 45000 ms, not longer than lease \+ timeout \(50000 ms\)/);
    expect(start(short, '10s')).not.toThrow();
  });

  it('retries that go on for longer than the key is trusted, when nothing says what to do then', () => {
    const long = {
      idempotency: { mode: 'key', lifetime: '15m' },
      retry: { maxAttempts: 12, baseDelay: '1m', maxDelay: '10m' },
    } as const;
    expect(start(long)).toThrow(/its retries can take \d+ ms and its key is trusted for \d+ ms/);
    expect(start({ ...long, onUnknown: 'ask-human' })).not.toThrow();
    expect(start({ ...long, reconcile: async () => cannotTell() })).not.toThrow();
    expect(start({ ...long, idempotency: { mode: 'key', lifetime: 'forever' } })).not.toThrow();
  });

  it('a margin that leaves nothing of the lifetime', () => {
    expect(start({ idempotency: { mode: 'key', lifetime: '1m' } })).toThrow(/nothing is left/);
  });
});
