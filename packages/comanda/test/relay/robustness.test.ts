import { eventually } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { absent, completed, type Outcome, type Queryable } from '../../src/index.js';
import { systemClock } from '../../src/kernel/clock.js';
import { bench, counting } from './setup.js';

const state = async (b: Awaited<ReturnType<typeof bench>>, key: string) => (await b.states())[key];

/** A database handle that does something odd with the first statements that call a function. */
function odd(
  base: Queryable,
  name: string,
  times: number,
  act: (run: () => Promise<readonly unknown[]>) => Promise<readonly unknown[]>,
): Queryable {
  let left = times;
  return {
    query: <Row>(text: string, params: readonly unknown[]) => {
      const run = () => base.query<Row>(text, params);
      if (left === 0 || !text.includes(`.${name}(`)) return run();
      left -= 1;
      return act(run) as Promise<readonly Row[]>;
    },
  };
}

describe('robustness', () => {
  it('an answer `go` that comes after the lease has ended sends nothing, whatever the handler', async () => {
    const b = await bench();
    const sent: string[] = [];
    const mail = counting(
      'mail',
      (_input, context) => {
        sent.push(context.fence);
        return completed();
      },
      { idempotency: 'none', timeout: 300, reconcile: async () => absent() },
    );
    await b.effect('x', 'mail');
    const slow = odd(pgStandalone(b.pool), 'may_send', 1, async (run) => {
      const rows = await run();
      // The link stalls until somebody else has looked and sent.
      await eventually(() => sent.length > 0, { what: 'the other relay sending' });
      return rows;
    });
    await b.relay({ effects: [mail], lease: 600, database: slow }).start();
    await eventually(async () => (await b.rows(`select 1 from comanda.attempt where phase = 'start'`)).length === 1, {
      what: 'the first start row',
    });
    await b.relay({ effects: [mail], lease: 600 }).start();
    await eventually(async () => (await state(b, 'x/mail')) === 'completed', { withinMs: 20_000, what: 'the mail' });
    expect(sent).toHaveLength(1);
  });

  it('a machine that was suspended between the answer `go` and the send sends nothing of that turn', async () => {
    const b = await bench();
    let sleptMs = 0;
    const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + sleptMs };
    const mail = counting('mail', () => completed(), { idempotency: 'none', onUnknown: 'ask-human' });
    await b.effect('x', 'mail');
    const suspended = odd(pgStandalone(b.pool), 'may_send', 1, async (run) => {
      const rows = await run();
      sleptMs = 3_600_000;
      return rows;
    });
    await b.relay({ effects: [mail], database: suspended, clock }).start();
    await eventually(async () => (await state(b, 'x/mail')) === 'completed', { what: 'the second turn' });
    expect(await b.rows(`select phase, outcome, error_class from comanda.attempt order by at`)).toEqual([
      { phase: 'start', outcome: null, error_class: null },
      { phase: 'end', outcome: 'retry', error_class: 'turn_over' },
      { phase: 'start', outcome: null, error_class: null },
      { phase: 'end', outcome: 'completed', error_class: null },
    ]);
    expect(await b.rows('select attempts from comanda.outcome')).toEqual([{ attempts: 1 }]);
  });

  it('whatever a handler says can be settled, and an outcome is never dropped', async () => {
    const b = await bench();
    const says: Record<string, Outcome> = {
      long: { outcome: 'failed', errorClass: 'x', errorText: 'á'.repeat(3_000) },
      japanese: { outcome: 'failed', errorText: '失敗'.repeat(2_000) },
      emoji: { outcome: 'failed', errorText: `${'x'.repeat(899)}😀😀😀😀` },
      status: { outcome: 'completed', status: 20_240_501_123_456, providerId: 're_1' },
      nan: { outcome: 'completed', status: Number.NaN },
      never: { outcome: 'retry', notSent: true, afterMs: Number.NaN },
      huge: { outcome: 'completed', response: 'y'.repeat(3_000_000) },
    };
    const odd = counting('odd', (input, context) =>
      context.attempt > 1 ? completed() : (says[(input as { key: string }).key] ?? completed()),
    );
    for (const key of Object.keys(says))
      await b.effect(key, 'odd', key === 'long' || key === 'emoji' ? { orderingKey: key } : {});
    const relay = b.relay({ effects: [odd] });
    await relay.start();
    await eventually(async () => Object.values(await b.states()).every((s) => s === 'completed' || s === 'failed'), {
      what: 'all outcomes',
    });
    expect(await b.states()).toMatchObject({
      'long/odd': 'failed',
      'japanese/odd': 'failed',
      'emoji/odd': 'failed',
      'status/odd': 'completed',
      'nan/odd': 'completed',
      'never/odd': 'completed',
      'huge/odd': 'completed',
    });
    expect([...odd.calls].filter(([key]) => key !== 'never/odd').every(([, n]) => n === 1)).toBe(true);
    expect(relay.events.filter((event) => event.type === 'warning')).toEqual([]);
  });

  it('an outcome is written however long the database refuses', async () => {
    const b = await bench();
    const errors = [
      Object.assign(new Error('Query read timeout'), {}),
      Object.assign(new Error('read-only'), { code: '25006' }),
      Object.assign(new Error('no space'), { code: '53100' }),
    ];
    const pay = counting('pay', () => completed({ providerId: 're_1' }), {
      idempotency: 'none',
      onUnknown: 'ask-human',
    });
    await b.effect('x', 'pay');
    const database = odd(pgStandalone(b.pool), 'settle', errors.length, () => Promise.reject(errors.shift()));
    await b.relay({ effects: [pay], database, lease: 10_000 }).start();
    await eventually(async () => (await state(b, 'x/pay')) === 'completed', { what: 'the outcome' });
    expect(errors).toEqual([]);
    expect([...pay.calls.values()]).toEqual([1]);
    expect(await b.rows('select provider_id from comanda.outcome')).toEqual([{ provider_id: 're_1' }]);
  });

  it('claimed effects whose payloads cannot be read at first are neither lost nor blamed', async () => {
    const b = await bench();
    const pay = counting('pay');
    await b.effect('x', 'pay');
    const database = odd(pgStandalone(b.pool), 'payloads', 3, () => Promise.reject(new Error('cut')));
    await b.relay({ effects: [pay], database, lease: 10_000 }).start();
    await eventually(async () => (await state(b, 'x/pay')) === 'completed', { what: 'the effect' });
    expect(await b.rows('select attempts from comanda.outcome')).toEqual([{ attempts: 1 }]);
  });

  it('a suspect is validated too, and its handler never sees what does not fit', async () => {
    const b = await bench();
    const inputs: unknown[] = [];
    const input = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'is not a number', path: ['amount'] }] }),
      },
    };
    const pay = counting(
      'pay',
      (value) => {
        inputs.push(value);
        return completed();
      },
      { input },
    );
    await b.effect('x', 'pay', { payload: { amount: 'ten' } });
    await b.rows(`select * from comanda.route('{"relay":"dead","leaseMs":50,"kinds":[{"kind":"pay","lanes":1}]}')`);
    await b.relay({ effects: [pay] }).start();
    await eventually(async () => (await state(b, 'x/pay')) === 'unknown', { what: 'a person being asked' });
    expect(inputs).toEqual([]);
    expect((await b.rows<{ reason: string }>('select reason from comanda.attention'))[0]?.reason).toMatch(
      /may have been sent/,
    );
  });

  it('G07: an effect of a newer version of a kind waits for a newer relay, and burns no attempt', async () => {
    const b = await bench();
    const old = counting('pay');
    const fresh = counting('pay', undefined, { version: 2 });
    await b.effect('x', 'pay', { version: 2 });
    const relay = b.relay({ effects: [old] });
    await relay.start();
    await eventually(() => relay.events.some((event) => event.type === 'warning' && event.code === 'newer_kind'), {
      what: 'the warning',
    });
    await b.relay({ effects: [fresh] }).start();
    await eventually(async () => (await state(b, 'x/pay')) === 'completed', { what: 'the newer relay' });
    expect(old.calls.size).toBe(0);
    expect(await b.rows('select attempts from comanda.outcome')).toEqual([{ attempts: 1 }]);
  });

  it('older work goes before what has just arrived, also when there is more than places', async () => {
    const b = await bench();
    const seen: number[] = [];
    const pay = counting(
      'pay',
      (input) => {
        seen.push((input as { n: number }).n);
        return completed();
      },
      { concurrency: 1 },
    );
    for (let n = 0; n < 12; n += 1)
      await b.decide({ key: `o${n}`, actor: { type: 'system', id: 't' }, effects: [{ kind: 'pay', payload: { n } }] });
    const relay = b.relay({ effects: [pay] });
    await relay.start();
    for (let n = 12; n < 40; n += 1)
      await b.decide({ key: `o${n}`, actor: { type: 'system', id: 't' }, effects: [{ kind: 'pay', payload: { n } }] });
    await eventually(() => seen.length === 40, { withinMs: 20_000, what: 'all' });
    expect(seen.slice(0, 12)).toEqual([...Array(12).keys()]);
  });

  it('what a handler says after it was left behind is evidence, and is believed', async () => {
    const b = await bench();
    let answer: () => void = () => {};
    const late = counting(
      'late',
      () =>
        new Promise<Outcome>((resolve) => {
          answer = () => resolve(completed({ providerId: 're_2' }));
        }),
      { idempotency: 'none', timeout: 100, reconcile: async () => ({ found: 'cannotTell' as const }) },
    );
    await b.effect('x', 'late');
    await b.relay({ effects: [late], lease: 600 }).start();
    await eventually(async () => (await state(b, 'x/late')) === 'unknown', { what: 'the handler being left behind' });
    answer();
    await eventually(async () => (await state(b, 'x/late')) === 'completed', { what: 'the late answer' });
    expect([...late.calls.values()]).toEqual([1]);
    expect(await b.rows('select provider_id, reason from comanda.outcome')).toEqual([
      { provider_id: 're_2', reason: 'late evidence' },
    ]);
  });

  it('a database that never answers does not hold stop() for ever', async () => {
    const b = await bench();
    const database = odd(pgStandalone(b.pool), 'claim', 1_000, () => new Promise(() => {}));
    const relay = b.relay({ effects: [counting('pay')], database, lease: 500, shutdownGrace: 200 });
    await relay.start();
    const started = performance.now();
    await relay.stop();
    expect(performance.now() - started).toBeLessThan(8_000);
  });

  it('a failed look-up that kills its process is put before a person after three', async () => {
    const b = await bench();
    const mail = counting('mail', undefined, { idempotency: 'none', timeout: 50, reconcile: async () => absent() });
    await b.effect('x', 'mail');
    await b.rows(`select * from comanda.route('{"relay":"dead","leaseMs":10,"kinds":[{"kind":"mail","lanes":1}]}')`);
    await b.rows(`update comanda.lane set trouble = 'unknown', suspect_to = inflight_to`);
    for (let n = 0; n < 3; n += 1) {
      await eventually(
        async () =>
          (
            await b.rows(
              `select lane from comanda.claim('{"relay":"dead","leaseMs":10,"kinds":[{"kind":"mail","lanes":1,"batch":1}]}')`,
            )
          ).length === 1,
        { what: `claim ${n} of a relay that dies` },
      );
    }
    await b.relay({ effects: [mail] }).start();
    await eventually(
      async () =>
        (await b.rows<{ reason: string }>('select reason from comanda.attention')).some((row) =>
          row.reason.includes('processes died'),
        ),
      { what: 'attention' },
    );
    expect(mail.calls.size).toBe(0);
  });
});
