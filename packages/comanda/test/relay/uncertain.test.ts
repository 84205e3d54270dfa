import { eventually, startGateway, startMail } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { absent, applied, cannotTell, completed, notSent, type ReconcileResult } from '../../src/index.js';
import { bench, counting, relayProcess } from './setup.js';

const state = async (b: Awaited<ReturnType<typeof bench>>, key: string) => (await b.states())[key];

describe('uncertain outcomes', () => {
  it('H07 A: keyed, accepted without an answer: the same key again, accepted once', async () => {
    const b = await bench();
    const gateway = await startGateway({ control: { script: ['acceptDrop', 'error500', 'dropBefore'] } });
    relayProcess(b, { gateway: gateway.url });
    await b.effect('H07', 'refund');
    await eventually(async () => (await state(b, 'H07/refund')) === 'completed', { what: 'the refund' });
    expect(gateway.entries('accepted')).toHaveLength(1);
    // H01: every request carried the same key.
    const keys = gateway.entries('received').map((entry) => entry.key);
    expect(keys).toHaveLength(4);
    expect(new Set(keys)).toEqual(new Set(['H07/refund']));
  });

  it('H07 B: not idempotent, accepted without an answer: looked up, completed, sent once', async () => {
    const b = await bench();
    const mail = await startMail({ control: { script: ['acceptDrop'] } });
    relayProcess(b, { mail: mail.url, leaseMs: 1_000, timeoutMs: 900 });
    await b.effect('H07', 'mail', { payload: { to: 'a@example.test', reference: 'H07' } });
    await eventually(async () => (await state(b, 'H07/mail')) === 'unknown', { what: 'unknown' });
    await eventually(async () => (await state(b, 'H07/mail')) === 'completed', { what: 'the look-up' });
    expect(mail.entries('received')).toHaveLength(1);
    // On a busy machine the socket may not be connected in time at first: then nothing was sent.
    expect((await b.rows(`select phase, outcome from comanda.attempt order by at`)).slice(-3)).toEqual([
      { phase: 'start', outcome: null },
      { phase: 'end', outcome: 'unknown' },
      { phase: 'look', outcome: 'applied' },
    ]);
  });

  it('H07 B: not idempotent, dropped before acceptance: looked up, absent, sent again', async () => {
    const b = await bench();
    const mail = await startMail({ control: { script: ['dropBefore'] } });
    relayProcess(b, { mail: mail.url, leaseMs: 1_000, timeoutMs: 900 });
    await b.effect('H07', 'mail', { payload: { to: 'a@example.test', reference: 'H07' } });
    await eventually(async () => (await state(b, 'H07/mail')) === 'completed', { what: 'the mail' });
    expect(mail.entries('accepted')).toHaveLength(1);
    expect(await b.rows(`select outcome from comanda.attempt where phase = 'look'`)).toEqual([{ outcome: 'absent' }]);
  });

  it('H07 C: neither key nor look-up: unknown, a person decides, sent once', async () => {
    const b = await bench();
    const mail = await startMail({ control: { script: ['acceptDrop'] } });
    relayProcess(b, { mail: mail.url, leaseMs: 1_000, timeoutMs: 900, noReconcile: true });
    await b.effect('H07', 'mail', { payload: { to: 'a@example.test', reference: 'H07' } });
    const [row] = await eventually(
      async () => {
        const rows = await b.rows<{ effect_id: string; what: string }>(
          'select effect_id::text, what from comanda.attention',
        );
        return rows.length > 0 && rows;
      },
      { what: 'attention' },
    );
    expect(row?.what).toBe('unknown outcome');
    expect(await b.unattended()).toBe(0);
    await b.rows('select * from comanda.request($1::text::jsonb)', [
      JSON.stringify({
        effect: row?.effect_id,
        action: 'resolve',
        as: 'completed',
        by: 'ana',
        reason: 'seen in the outbox of the provider',
        providerId: 'msg_1',
      }),
    ]);
    await eventually(async () => (await state(b, 'H07/mail')) === 'completed', { what: 'the answer of the person' });
    expect(mail.entries('received')).toHaveLength(1);
    expect(await b.rows('select settled_by, provider_id from comanda.outcome')).toEqual([
      { settled_by: 'ana', provider_id: 'msg_1' },
    ]);
  });

  it('what must not be repeated is claimed one at a time, what its key protects is not', async () => {
    const b = await bench();
    for (const kind of ['keyed', 'natural', 'none'] as const) {
      await b.decide({
        key: kind,
        effects: [1, 2, 3].map((n) => ({ kind, name: `e${n}`, orderingKey: kind })),
      });
    }
    const effects = {
      keyed: counting('keyed'),
      natural: counting('natural', undefined, { idempotency: 'natural' }),
      none: counting('none', undefined, { idempotency: 'none', onUnknown: 'ask-human' }),
    };
    // Everything is routed before anybody claims, so that a lane has all its effects when it is claimed.
    await b.rows(`select from comanda.route('{"relay": "r0", "leaseMs": 1000, "kinds": []}')`);
    const claims: Record<string, number> = {};
    for (const [kind, effect] of Object.entries(effects)) {
      const relay = b.relay({ effects: [effect] });
      await relay.start();
      const done = async () =>
        Object.entries(await b.states()).every(([key, s]) => !key.startsWith(kind) || s === 'completed');
      await eventually(done, { what: kind });
      await relay.stop();
      claims[kind] = relay.events.filter((event) => event.type === 'claimed').length;
    }
    expect(claims).toEqual({ keyed: 1, natural: 3, none: 3 });
  });

  it('a look-up that cannot tell is repeated, and then a person is asked', async () => {
    const b = await bench();
    const answers: ReconcileResult[] = [
      cannotTell(),
      { found: 'cannotTell', errorClass: 'http_503' },
      applied({ providerId: 'p1' }),
    ];
    const mail = counting('mail', () => ({ outcome: 'unknown' }), {
      idempotency: 'none',
      timeout: 200,
      reconcile: async () => answers.shift() ?? absent(),
    });
    await b.effect('x', 'mail');
    await b.relay({ effects: [mail], lease: 500, random: () => 0.05 }).start();
    await eventually(async () => (await state(b, 'x/mail')) === 'completed', { what: 'the third look-up' });
    expect([...mail.calls.values()]).toEqual([1]);
    expect(await b.rows(`select outcome from comanda.attempt where phase = 'look' order by at`)).toEqual([
      { outcome: 'cannot_tell' },
      { outcome: 'cannot_tell' },
      { outcome: 'applied' },
    ]);
  });

  it('a claimed but never sent effect of a dead relay is clean: no look-up, sent once', async () => {
    const b = await bench();
    let looks = 0;
    const mail = counting('mail', () => completed(), {
      idempotency: 'none',
      timeout: 200,
      reconcile: async () => {
        looks += 1;
        return cannotTell();
      },
    });
    await b.effect('x', 'mail');
    await b.rows(`select * from comanda.route('{"relay":"dead","leaseMs":300,"kinds":[{"kind":"mail","lanes":1}]}')`);
    await b.relay({ effects: [mail], lease: 500 }).start();
    await eventually(async () => (await state(b, 'x/mail')) === 'completed', { what: 'the mail' });
    expect(looks).toBe(0);
    expect([...mail.calls.values()]).toEqual([1]);
  });

  it('late evidence found by a look-up is believed over `absent` (relay-model R5)', async () => {
    const b = await bench();
    const mail = counting('mail', () => ({ outcome: 'unknown' }), {
      idempotency: 'none',
      timeout: 200,
      reconcile: async (_input, context) => {
        // The paused owner is answered while the look-up is under way.
        await b.rows(
          `select * from comanda.late_evidence(jsonb_build_object('relay', 'paused', 'items', jsonb_build_array(jsonb_build_object('fence', 0, 'effect', (select id from comanda.effect), 'attempt', 1, 'outcome', 'completed', 'providerId', 'late_1'))))`,
        );
        return context.attempt > 0 ? absent() : cannotTell();
      },
    });
    await b.effect('x', 'mail');
    await b.relay({ effects: [mail], lease: 500 }).start();
    await eventually(async () => (await state(b, 'x/mail')) === 'completed', { what: 'the late evidence' });
    expect([...mail.calls.values()]).toEqual([1]);
    expect(await b.rows('select provider_id, reason from comanda.outcome')).toEqual([
      { provider_id: 'late_1', reason: 'late evidence' },
    ]);
  });

  it('late evidence is believed over three lost leases: completed, not a dead letter', async () => {
    const b = await bench();
    const refund = counting('refund');
    await b.effect('x', 'refund');
    await b.rows(`select * from comanda.route('{"relay":"slow","leaseMs":300,"kinds":[{"kind":"refund","lanes":1}]}')`);
    await b.rows(
      `select * from comanda.late_evidence(jsonb_build_object('relay', 'slow', 'items', jsonb_build_array(jsonb_build_object('fence', 0, 'effect', (select id from comanda.effect), 'attempt', 1, 'outcome', 'completed', 'providerId', 'late_1'))))`,
    );
    await b.rows('update comanda.lane set lost = 3');
    await b.relay({ effects: [refund], lease: 500 }).start();
    await eventually(async () => (await b.rows('select 1 from comanda.outcome')).length > 0, { what: 'an outcome' });
    expect(await b.rows('select state, provider_id, reason from comanda.outcome')).toEqual([
      { state: 'completed', provider_id: 'late_1', reason: 'late evidence' },
    ]);
    expect(refund.calls.size).toBe(0);
  });

  it('attempts exhausted: failed when nothing can have been applied, unknown when something may', async () => {
    const b = await bench();
    const more = { retry: { maxAttempts: 3, baseDelay: 5, maxDelay: 10 } };
    const refused = counting('refused', () => ({ outcome: 'retry', notSent: true, errorClass: 'ECONNREFUSED' }), more);
    const dropped = counting('dropped', () => ({ outcome: 'retry', notSent: false, errorClass: 'ECONNRESET' }), more);
    await b.effect('a', 'refused');
    await b.effect('b', 'dropped');
    await b.effect('c', 'refused', { orderingKey: 'lane' });
    await b.effect('d', 'refused', { orderingKey: 'lane' });
    await b.relay({ effects: [refused, dropped] }).start();
    await eventually(
      async () =>
        (await state(b, 'a/refused')) === 'failed' &&
        (await state(b, 'b/dropped')) === 'unknown' &&
        (await state(b, 'c/refused')) === 'failed',
      { what: 'both ends' },
    );
    expect(refused.calls.get('a/refused')).toBe(3);
    expect(dropped.calls.get('b/dropped')).toBe(3);
    // O09: a dead head blocks what is behind it, visibly.
    expect(await state(b, 'd/refused')).toBe('pending');
    expect(
      (await b.rows<{ what: string }>('select what from comanda.attention order by 1')).map((row) => row.what),
    ).toEqual(['blocked lane', 'dead letter', 'unknown outcome']);
    expect(await b.unattended()).toBe(0);
  });

  it('M04: a handler that throws something odd is an attempt, not the end of the relay', async () => {
    const b = await bench();
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    const evil = new Error('x');
    Object.defineProperty(evil, 'message', {
      get: () => {
        throw new Error('no message for you');
      },
    });
    const throws: unknown[] = [
      undefined,
      'text',
      circular,
      evil,
      notSent(new Error('first')),
      new Error('lone \ud800 and \0 NUL'),
    ];
    let n = 0;
    const odd = counting(
      'odd',
      () => {
        const value = throws[n];
        n += 1;
        if (n <= throws.length) throw value;
        return completed({ response: 'ok \ud800\0' });
      },
      { retry: { maxAttempts: 20, baseDelay: 5, maxDelay: 10 } },
    );
    await b.effect('odd', 'odd');
    await b.effect('fine', 'noop');
    await b.relay({ effects: [odd, counting('noop')] }).start();
    await eventually(
      async () => (await state(b, 'odd/odd')) === 'completed' && (await state(b, 'fine/noop')) === 'completed',
      { what: 'both' },
    );
    expect(odd.calls.get('odd/odd')).toBe(throws.length + 1);
    expect((await b.rows(`select error_class from comanda.attempt where outcome = 'retry'`)).length).toBe(
      throws.length,
    );
  });

  it('a none kind that throws after it may have sent is unknown; marked notSent it is an ordinary retry', async () => {
    const b = await bench();
    let n = 0;
    const careful = counting(
      'careful',
      () => {
        n += 1;
        if (n < 3) throw notSent(new Error('not connected'));
        return completed();
      },
      { idempotency: 'none', onUnknown: 'ask-human' },
    );
    const careless = counting(
      'careless',
      () => {
        throw new Error('who knows');
      },
      { idempotency: 'none', onUnknown: 'ask-human' },
    );
    await b.effect('a', 'careful');
    await b.effect('b', 'careless');
    await b.relay({ effects: [careful, careless] }).start();
    await eventually(
      async () => (await state(b, 'a/careful')) === 'completed' && (await state(b, 'b/careless')) === 'unknown',
      { what: 'both' },
    );
    expect([...careless.calls.values()]).toEqual([1]);
  });

  it('natural kinds: an uncertain attempt is repeated only after lease end + timeout (relay-model R4)', async () => {
    const b = await bench();
    const times: number[] = [];
    const put = counting(
      'put',
      () => {
        times.push(performance.now());
        return times.length === 1 ? { outcome: 'retry', notSent: false } : completed();
      },
      { idempotency: 'natural', timeout: 400 },
    );
    await b.effect('x', 'put', { orderingKey: 'k' });
    await b.relay({ effects: [put], lease: 600 }).start();
    await eventually(async () => (await state(b, 'x/put')) === 'completed', { what: 'the second put' });
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(990);
  });

  it('natural kinds: a take-over waits for the timeout, and a killer of processes is still found', async () => {
    const b = await bench();
    await b.effect('x', 'put');
    const put = counting('put', undefined, { idempotency: 'natural', timeout: 400 });
    await b.rows(`select * from comanda.route('{"relay":"dead","leaseMs":200,"kinds":[{"kind":"put","lanes":1}]}')`);
    const [lane] = await b.rows<{ ends: number }>(
      'select extract(epoch from ready_at)::float8 * 1000 as ends from comanda.lane',
    );
    await b.relay({ effects: [put], lease: 600 }).start();
    await eventually(async () => (await state(b, 'x/put')) === 'completed', { what: 'the put' });
    const [first] = await b.rows<{ at: number }>(
      `select extract(epoch from min(at))::float8 * 1000 as at from comanda.attempt where phase = 'end' and outcome = 'completed'`,
    );
    expect((first?.at ?? 0) - (lane?.ends ?? 0)).toBeGreaterThanOrEqual(390);
  });

  it('the suspects of a dead relay do not hold up new work, of their kind or of another', async () => {
    const b = await bench();
    const slow = new Set<string>();
    const pay = counting(
      'pay',
      async (_input, context) => {
        if (!context.idempotencyKey.startsWith('old')) return completed();
        slow.add(context.idempotencyKey);
        await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
        return completed();
      },
      { timeout: 30_000, concurrency: 4 },
    );
    for (let i = 0; i < 4; i += 1) await b.effect(`old${i}`, 'pay');
    await b.rows(`select * from comanda.route('{"relay":"dead","leaseMs":1,"kinds":[{"kind":"pay","lanes":4}]}')`);
    const relay = b.relay({ effects: [pay, counting('note')] });
    await relay.start();
    await eventually(() => slow.size === 1, { what: 'the first suspect, at a target that hangs' });
    const before = slow.size;
    await b.effect('new', 'pay');
    await b.effect('other', 'note');
    await eventually(
      async () => (await state(b, 'new/pay')) === 'completed' && (await state(b, 'other/note')) === 'completed',
      { what: 'new work', withinMs: 900 },
    );
    expect(before).toBe(1);
    // Each that has lived for a moment lets the next one begin.
    await eventually(() => slow.size === 4, { what: 'all suspects under way at once' });
    expect(relay.status().lanes).toBe(4);
  });
});
