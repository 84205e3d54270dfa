import { eventually, startGateway } from '@comanda/test-support';
import { describe, expect, it } from 'vitest';
import { completed } from '../../src/index.js';
import { bench, counting, relayProcess } from './setup.js';

/** A handler that waits until the test lets it go. */
function gate() {
  const waiting: (() => void)[] = [];
  return {
    wait: () => new Promise<void>((resolve) => waiting.push(resolve)),
    open: () => {
      for (const go of waiting.splice(0)) go();
    },
    get size() {
      return waiting.length;
    },
  };
}

const switchTo = (b: Awaited<ReturnType<typeof bench>>, mode: string, scope = 'all') =>
  b.rows('select * from comanda.switch_set($1::text::jsonb)', [
    JSON.stringify({ scope, mode, by: 'ana', reason: 'test' }),
  ]);

describe('control', () => {
  it('S01: off means off: nothing starts, what is in flight ends truthfully, on again all is done once', async () => {
    const b = await bench();
    const door = gate();
    const pay = counting(
      'pay',
      async () => {
        await door.wait();
        return completed();
      },
      { concurrency: 2 },
    );
    for (let i = 0; i < 8; i += 1) await b.effect(`S01-${i}`, 'pay');
    const relay = b.relay({ effects: [pay] });
    await relay.start();
    await eventually(() => door.size === 2, { what: 'two in flight' });
    await switchTo(b, 'hold');
    const started = pay.calls.size;
    door.open();
    await eventually(async () => Object.values(await b.states()).filter((s) => s === 'completed').length === 2, {
      what: 'the two in flight',
    });
    await eventually(() => relay.events.some((event) => event.type === 'held'), {
      what: 'the relay saying that it holds',
    });
    expect(pay.calls.size).toBe(started);
    expect(await b.rows(`select what from comanda.attention where what = 'switched off'`)).toHaveLength(1);
    await eventually(
      async () => {
        const [row] = await b.rows<{ ok: boolean }>(
          'select bool_and(r.switch_version = (select max(version) from comanda.switch)) ok from comanda.relay r',
        );
        return row?.ok;
      },
      { what: 'the published switch version' },
    );
    await switchTo(b, 'run');
    await eventually(
      async () => {
        door.open();
        return Object.values(await b.states()).every((s) => s === 'completed');
      },
      { what: 'everything' },
    );
    expect([...pay.calls.values()].every((n) => n === 1)).toBe(true);
  });

  it('S01: 1 000 queued and 5 in flight: after the switch no request starts later than a second; on again, each once', async () => {
    const b = await bench();
    const gateway = await startGateway({ control: { slowMs: 400, rates: { acceptSlow: 1 } } });
    await b.decide({
      key: 'S01',
      effects: Array.from({ length: 1_000 }, (_, i) => ({ kind: 'refund', name: `r${i}`, payload: { i } })),
    });
    relayProcess(b, { gateway: gateway.url, concurrency: 5, timeoutMs: 10_000, leaseMs: 5_000 });
    await eventually(() => gateway.entries('received').length >= 10, { what: 'five in flight, and some behind' });
    await switchTo(b, 'hold');
    const off = Date.now();
    await eventually(async () => (await b.rows('select 1 from comanda.lane where owner is not null')).length === 0, {
      what: 'the end of what was in flight',
    });
    // What left before is recorded as it ended; nothing leaves for as long as it stays off.
    const during = gateway.entries('received');
    await eventually(() => Date.now() > off + 2_500, { what: 'two and a half seconds off' });
    expect(gateway.entries('received')).toHaveLength(during.length);
    expect(during.filter(({ t }) => t > off + 1_000)).toEqual([]);
    expect(Object.values(await b.states()).filter((s) => s === 'completed')).toHaveLength(during.length);
    expect(await b.unattended()).toBe(0);
    await gateway.control({ rates: {} });
    await switchTo(b, 'run');
    await eventually(async () => Object.values(await b.states()).every((s) => s === 'completed'), {
      what: 'all 1 000',
      withinMs: 30_000,
    });
    const keys = gateway.entries('accepted').map(({ key }) => key);
    expect(keys).toHaveLength(1_000);
    expect(new Set(keys).size).toBe(1_000);
  });

  it('P8: the switch is re-read between claim and send', async () => {
    const b = await bench();
    const pay = counting('pay');
    await b.effect('x', 'pay');
    await b.rows(`select * from comanda.route('{"relay":"slow","leaseMs":60000,"kinds":[{"kind":"pay","lanes":1}]}')`);
    await switchTo(b, 'hold', 'target:pay');
    const [answer] = await b.rows<{ answer: string }>(
      `select answer from comanda.may_send(jsonb_build_object('relay', 'slow', 'floor', 'none', 'items', (select jsonb_agg(jsonb_build_object('lane', l.lane, 'fence', l.fence, 'effect', q.effect_id, 'needMs', 100)) from comanda.lane l join comanda.effect_queue q using (lane))))`,
    );
    expect(answer?.answer).toBe('off:target:pay');
    expect(pay.calls.size).toBe(0);
  });

  it('a stopped kind, target, tenant or agent waits, others flow, and go on when the scope runs again', async () => {
    const b = await bench();
    const pay = counting('pay');
    const crm = counting('crm');
    for (const scope of ['kind:pay', 'target:pay', 'tenant:acme', 'agent:bot', 'actor:agent']) {
      await switchTo(b, 'hold', scope);
      await b.decide({
        key: `${scope}`,
        tenant: 'acme',
        actor: { type: 'agent', id: 'bot' },
        effects: [{ kind: 'pay' }],
      });
      await b.decide({
        key: `${scope}-free`,
        tenant: 'other',
        actor: { type: 'human', id: 'ana' },
        effects: [{ kind: 'crm' }],
      });
    }
    const relay = b.relay({ effects: [pay, crm], aiActions: 'enabled' });
    await relay.start();
    await eventually(() => crm.calls.size === 5, { what: 'the free ones' });
    for (const scope of ['kind:pay', 'target:pay', 'tenant:acme', 'agent:bot']) {
      await switchTo(b, 'run', scope);
      expect(pay.calls.size).toBe(0);
    }
    expect(await b.unattended()).toBe(0);
    await switchTo(b, 'run', 'actor:agent');
    await eventually(() => pay.calls.size === 5, { what: 'the held ones' });
  });

  it('AI_ACTIONS_ENABLED is the floor: unset holds what agents decided, disabled also the undeclared', async () => {
    const b = await bench();
    const pay = counting('pay');
    await b.decide({
      key: 'agent',
      actor: { type: 'human', id: 'ana', onBehalfOf: { type: 'agent', id: 'bot' } },
      effects: [{ kind: 'pay' }],
    });
    await b.decide({ key: 'model', model: 'm-1', actor: { type: 'system', id: 's' }, effects: [{ kind: 'pay' }] });
    await b.decide({ key: 'undeclared', effects: [{ kind: 'pay' }] });
    await b.decide({ key: 'human', actor: { type: 'human', id: 'ana' }, effects: [{ kind: 'pay' }] });
    const disabled = b.relay({ effects: [pay], aiActions: 'disabled' });
    await disabled.start();
    await eventually(() => pay.calls.has('human/pay'), { what: 'the human one' });
    await disabled.stop();
    expect([...pay.calls.keys()]).toEqual(['human/pay']);
    await b.rows('update comanda.lane set ready_at = now() where owner is null');
    const unset = b.relay({ effects: [pay] });
    await unset.start();
    await eventually(() => pay.calls.has('undeclared/pay'), { what: 'the undeclared one' });
    await unset.stop();
    expect(pay.calls.size).toBe(2);
    await b.rows('update comanda.lane set ready_at = now() where owner is null');
    await b.relay({ effects: [pay], aiActions: 'enabled' }).start();
    await eventually(() => pay.calls.size === 4, { what: 'all' });
    expect(await b.rows('select max(attempts) as n from comanda.outcome')).toEqual([{ n: 1 }]);
  });

  it('cancel: exact while an effect waits, a request afterwards, too late once sent', async () => {
    const b = await bench();
    const door = gate();
    const pay = counting('pay', async () => {
      await door.wait();
      return completed();
    });
    await b.effect('window', 'pay', { cancelWindowMs: 3_600_000 });
    await b.effect('first', 'pay', { orderingKey: 'k' });
    await b.effect('behind', 'pay', { orderingKey: 'k' });
    const cancel = async (key: string) =>
      (
        await b.rows<{ answer: string }>('select answer from comanda.cancel($1::text::jsonb)', [
          JSON.stringify({ key, by: 'ana' }),
        ])
      )[0]?.answer;
    expect(await cancel('window')).toBe('cancelled');
    const relay = b.relay({ effects: [pay], batch: 10 });
    await relay.start();
    await eventually(() => door.size === 1, { what: 'the first in flight' });
    expect(await cancel('first')).toBe('requested');
    expect(await cancel('behind')).toBe('requested');
    door.open();
    await eventually(
      async () => (await b.rows('select 1 from comanda.effect_request where answered_at is null')).length === 0,
      { what: 'both answers' },
    );
    expect(await b.states()).toEqual({
      'window/pay': 'cancelled',
      'first/pay': 'completed',
      'behind/pay': 'cancelled',
    });
    expect([...pay.calls.keys()]).toEqual(['first/pay']);
    expect(await cancel('first')).toBe('too late');
    expect(await b.rows('select answer from comanda.effect_request order by id')).toEqual([
      { answer: 'too late' },
      { answer: 'cancelled' },
    ]);
  });

  it('P6: one lane in commit order, across two relays and batches', async () => {
    const b = await bench();
    const seen: string[] = [];
    const slow = counting('slow', (_input, context) => {
      seen.push(context.idempotencyKey);
      return seen.length % 7 === 0 ? { outcome: 'retry', notSent: true } : completed();
    });
    for (let i = 0; i < 40; i += 1) await b.effect(String(i), 'slow', { orderingKey: `lane-${i % 2}` });
    await b.relay({ effects: [slow] }).start();
    await b.relay({ effects: [slow] }).start();
    await eventually(async () => Object.values(await b.states()).every((s) => s === 'completed'), {
      withinMs: 20_000,
      what: 'both lanes',
    });
    for (const lane of [0, 1]) {
      const order = [...new Set(seen)].map((key) => Number(key.split('/')[0])).filter((n) => n % 2 === lane);
      expect(order).toEqual([...order].sort((x, y) => x - y));
    }
  });

  it('delayed effects start when they are due, and a kind of a newer deployment waits without an attempt', async () => {
    const b = await bench();
    const pay = counting('pay');
    await b.effect('soon', 'pay', { delayMs: 300 });
    await b.effect('later', 'pay', { delayMs: 3_600_000 });
    await b.effect('newer', 'kind_of_tomorrow');
    await b.relay({ effects: [pay] }).start();
    await eventually(() => pay.calls.has('soon/pay'), { what: 'the delayed one' });
    expect(await b.states()).toEqual({
      'soon/pay': expect.stringMatching(/sending|completed/),
      'later/pay': 'waiting',
      'newer/kind_of_tomorrow': 'pending',
    });
    expect(await b.rows(`select attempt from comanda.lane where kind = 'kind_of_tomorrow'`)).toEqual([{ attempt: 0 }]);
  });

  it('validation: a payload that does not fit ends failed, unsent', async () => {
    const b = await bench();
    const input = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof value === 'object' && value !== null && 'amount' in value
            ? { value }
            : { issues: [{ message: 'is missing', path: ['amount'] }] },
      },
    };
    const pay = counting('pay', undefined, { input });
    await b.effect('bad', 'pay', { payload: { wrong: 1 } });
    await b.effect('good', 'pay', { payload: { amount: 1 } });
    await b.relay({ effects: [pay] }).start();
    await eventually(async () => Object.values(await b.states()).every((s) => s !== 'pending' && s !== 'sending'), {
      what: 'both ends',
    });
    expect(await b.states()).toEqual({ 'bad/pay': 'failed', 'good/pay': 'completed' });
    expect([...pay.calls.keys()]).toEqual(['good/pay']);
    const [dead] = await b.rows<{ error_text: string }>(
      `select error_text from comanda.attempt where outcome = 'failed'`,
    );
    expect(dead?.error_text).toBe('amount: is missing');
  });

  it('M01: SIGTERM lets a running effect end, claims nothing more, exits 0', async () => {
    const b = await bench();
    const relay = relayProcess(b);
    await relay.line((line) => line['ready'] === true);
    await b.effect('M01', 'noop');
    await eventually(async () => (await b.states())['M01/noop'] === 'completed', { what: 'the effect' });
    expect(await relay.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    const [row] = await b.rows<{ stopped: boolean }>('select stopped_at is not null as stopped from comanda.relay');
    expect(row?.stopped).toBe(true);
  });

  it('M01: a stop waits for the running handler within the grace', async () => {
    const b = await bench();
    const slow = counting('slow', async () => {
      await new Promise((resolve) => setTimeout(resolve, 800));
      return completed();
    });
    await b.effect('x', 'slow');
    await b.effect('y', 'slow', { orderingKey: 'k' });
    await b.effect('z', 'slow', { orderingKey: 'k' });
    const relay = b.relay({ effects: [slow] });
    await relay.start();
    await eventually(() => slow.calls.size === 2, { what: 'the handlers' });
    await relay.stop();
    expect(await b.states()).toEqual({ 'x/slow': 'completed', 'y/slow': 'completed', 'z/slow': 'pending' });
    expect(await b.rows('select owner from comanda.lane')).toEqual([{ owner: null }]);
  });

  it('M03: start and stop in quick succession', async () => {
    const b = await bench();
    const pay = counting('pay');
    const started = performance.now();
    for (let i = 0; i < 50; i += 1) {
      const relay = b.relay({ effects: [pay] });
      const starting = relay.start().catch(() => undefined);
      await Promise.all([relay.stop(), relay.stop(), starting]);
      expect(relay.status().state).toBe('stopped');
    }
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  it('refuses a schema that is missing or of another version, and unsafe kinds', async () => {
    const b = await bench();
    await expect(b.relay({ effects: [], schema: 'nowhere' }).start()).rejects.toThrow(/schema/i);
    await b.rows('update comanda.installation set schema_version = 0');
    await expect(b.relay({ effects: [] }).start()).rejects.toMatchObject({ code: 'COMANDA_SCHEMA_VERSION' });
    await b.rows('update comanda.installation set schema_version = 99, compatible_from = 1');
    const fine = b.relay({ effects: [counting('pay')] });
    await fine.start();
    await fine.stop();
    await b.rows('update comanda.installation set compatible_from = 99');
    await expect(b.relay({ effects: [] }).start()).rejects.toMatchObject({ code: 'COMANDA_SCHEMA_VERSION' });
    expect(() => b.relay({ effects: [counting('x', undefined, { idempotency: 'none' })] })).toThrow(/ask-human/);
  });

  it('drain() works without start()', async () => {
    const b = await bench();
    const pay = counting('pay');
    await b.effect('a', 'pay', { orderingKey: 'k' });
    await b.effect('b', 'pay', { orderingKey: 'k' });
    await b.relay({ effects: [pay] }).drain({ within: 10_000 });
    expect(pay.order).toEqual(['a/pay', 'b/pay']);
    expect(await b.unattended()).toBe(0);
  });
});
