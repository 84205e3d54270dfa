import { describe, expect, test } from 'vitest';
import { type Engine, engine } from './kit/engine.js';
import { claim, claimOne, decide, ended, head, route, settle } from './kit/steps.js';

/** A database in which every status of the outbox occurs, each for an order of its own name. */
async function restaurant(): Promise<Engine> {
  const s = await engine();
  const order = async (name: string, effect: Record<string, unknown> = {}) =>
    decide(
      s,
      `refund:${name}`,
      [{ kind: 'issue_refund', orderingKey: name, payload: { amount: 2154.0, currency: 'MXN' }, ...effect }],
      { subject: `order:${name}` },
    );
  const take = async () => {
    await route(s);
    return given(await claim(s, { kinds: ['issue_refund'] }));
  };
  const given = <T>([c]: T[]): T => c as T;
  await order('done');
  let c = await take();
  await settle(s, c, 'next', { ended: [ended(c, 'completed', { providerId: 're_1' })] });
  await order('failed');
  c = await take();
  await settle(s, c, 'block', {
    trouble: 'failed',
    headFailed: true,
    reason: 'failed',
    head: head(c, 'failed', { errorText: 'card closed' }),
  });
  await order('unknown');
  c = await take();
  await settle(s, c, 'unknown', { delayMs: 60_000, head: head(c, 'unknown', { errorText: 'timeout' }) });
  await order('cancelled', { delayMs: 60_000 });
  await s.call('cancel', { key: 'refund:cancelled' });
  await order('delayed', { delayMs: 60_000 });
  await order('held', { delayMs: 60_000 });
  await s.rows(`update comanda.waiting set reason = 'held', prerequisite_id = 1 where lane = 'k:held'`);
  await order('processing');
  await take();
  await order('pending');
  await s.rows('set search_path = comanda');
  return s;
}

describe('the SELECTs of the outbox lesson', () => {
  test('the relay’s own: pending, oldest first', async () => {
    const s = await restaurant();
    const rows = await s.rows(`SELECT * FROM outbox
     WHERE status = 'pending'
     ORDER BY created_at            -- las más viejas primero: preserva el orden
     LIMIT 10`);
    expect(rows).toEqual([
      expect.objectContaining({
        aggregate_id: 'pending',
        effect_type: 'issue_refund',
        payload: { amount: 2154.0, currency: 'MXN' },
        idempotency_key: 'refund:pending/issue_refund',
        status: 'pending',
        attempts: 0,
        last_error: null,
        processed_at: null,
        created_at: expect.any(Date),
        id: expect.any(Number),
      }),
    ]);
  });

  test('which one is in which status; held, unknown and cancelled never read as pending', async () => {
    const s = await restaurant();
    const found = await s.rows<{ aggregate_id: string; status: string }>(
      'select aggregate_id, status from outbox order by aggregate_id',
    );
    expect(found).toEqual(
      ['cancelled', 'delayed', 'done', 'failed', 'held', 'pending', 'processing', 'unknown'].map((status) => ({
        aggregate_id: status,
        status,
      })),
    );
  });

  test('stuck in processing, and what the last error was', async () => {
    const s = await restaurant();
    expect(await s.rows(`select aggregate_id, attempts from outbox where status = 'processing'`)).toEqual([
      { aggregate_id: 'processing', attempts: 1 },
    ]);
    expect(await s.rows(`select aggregate_id, last_error from outbox where last_error is not null order by 1`)).toEqual(
      [
        { aggregate_id: 'failed', last_error: 'card closed' },
        { aggregate_id: 'unknown', last_error: 'timeout' },
      ],
    );
    expect(await s.row(`select processed_at is not null as processed from outbox where status = 'done'`)).toEqual({
      processed: true,
    });
  });

  test('the decision of the lesson, made through decide()', async () => {
    const s = await engine();
    await s.call('decide', {
      key: 'refund:ORD-2041',
      subject: 'order:ORD-2041',
      effects: [{ kind: 'issue_refund', key: 'refund:ORD-2041', payload: { amount: 2154.0, currency: 'MXN' } }],
    });
    await s.rows('set search_path = comanda');
    expect(
      await s.row(
        `SELECT aggregate_id, effect_type, payload, idempotency_key, status FROM outbox WHERE aggregate_id = 'ORD-2041'`,
      ),
    ).toEqual({
      aggregate_id: 'ORD-2041',
      effect_type: 'issue_refund',
      payload: { amount: 2154, currency: 'MXN' },
      idempotency_key: 'refund:ORD-2041',
      status: 'pending',
    });
  });
});

describe('the SELECTs of the ledger lesson', () => {
  test('was this order processed, and how did it end?', async () => {
    const s = await restaurant();
    const ask = (order: string) =>
      s.row<{ status: string }>(`SELECT status, result, created_at, updated_at
FROM run_ledger
WHERE order_id = '${order}'`);
    const statuses: string[] = [];
    for (const order of ['done', 'failed', 'pending', 'processing', 'delayed', 'held', 'unknown', 'cancelled'])
      statuses.push((await ask(order)).status);
    expect(statuses).toEqual(
      ['done', 'pending', 'pending', 'pending', 'pending', 'held', 'unknown', 'cancelled'].map((x, i) =>
        i === 1 ? 'failed' : x,
      ),
    );
    expect(await s.row(`SELECT * FROM run_ledger WHERE order_id = 'done'`)).toMatchObject({
      idempotency_key: 'refund:done',
      state: 'completed',
      effects: 1,
      open_effects: 0,
    });
  });

  test('what has been pending for more than 15 minutes?', async () => {
    const s = await restaurant();
    const ask = () =>
      s.rows(`SELECT order_id, idempotency_key, created_at
FROM run_ledger
WHERE status = 'pending'
  AND created_at < now() - INTERVAL '15 minutes'`);
    expect(await ask()).toEqual([]);
    await s.rows(`update run set created_at = now() - interval '1 hour' where key = 'refund:pending'`);
    expect(await ask()).toEqual([
      { order_id: 'pending', idempotency_key: 'refund:pending', created_at: expect.any(Date) },
    ]);
  });

  test('what failed in the last hour?', async () => {
    const s = await restaurant();
    const failed = await s.rows(`SELECT order_id, idempotency_key, result, updated_at
FROM run_ledger
WHERE status = 'failed'
  AND updated_at > now() - INTERVAL '1 hour'
ORDER BY updated_at DESC`);
    expect(failed).toEqual([
      { order_id: 'failed', idempotency_key: 'refund:failed', result: null, updated_at: expect.any(Date) },
    ]);
  });

  test('SELECT * FROM run_ledger WHERE order_id', async () => {
    const s = await restaurant();
    const [row] = await s.rows<Record<string, unknown>>(`SELECT * FROM run_ledger WHERE order_id = 'pending'`);
    expect(Object.keys(row ?? {}).slice(0, 7)).toEqual([
      'id',
      'idempotency_key',
      'order_id',
      'status',
      'result',
      'created_at',
      'updated_at',
    ]);
  });

  test('a decision without effects is done; one with an open and a failed effect is not done', async () => {
    const s = await engine();
    await s.call('decide', { key: 'nothing', effects: [] });
    await decide(s, 'two', [{ name: 'a' }, { name: 'b' }]);
    await route(s);
    const [c] = await claim(s, { lanes: 1 });
    await settle(s, c, 'next', { ended: [ended(c, 'failed')] });
    expect(
      await s.rows('select idempotency_key, status, state, open_effects from comanda.run_ledger order by id'),
    ).toEqual([
      { idempotency_key: 'nothing', status: 'done', state: 'completed', open_effects: 0 },
      { idempotency_key: 'two', status: 'pending', state: 'decided', open_effects: 1 },
    ]);
  });

  test('a result is JSON, so that one row cannot break the view for all', async () => {
    const s = await engine();
    await decide(s, 'k', [{}]);
    expect(await s.sqlstate(`update comanda.run set result = 'charge 17'`)).toBe('22P02');
    await s.rows(`update comanda.run set result = '{"charge_id": 17}'`);
    expect(await s.row('select result from comanda.run_ledger')).toEqual({ result: { charge_id: 17 } });
  });
});

describe('writes through the views', () => {
  test.each([
    [
      'outbox',
      `UPDATE outbox SET status = 'processing', attempts = attempts + 1 WHERE status = 'pending'`,
      'cancel(jsonb)',
    ],
    ['outbox', `UPDATE outbox SET status = 'done', processed_at = now() WHERE status = 'processing'`, 'request(jsonb)'],
    [
      'outbox',
      `INSERT INTO outbox (aggregate_id, effect_type, payload, idempotency_key, status) VALUES ('a', 'b', '{}', 'c', 'pending')`,
      'decide(jsonb)',
    ],
    ['outbox', `UPDATE outbox SET status = 'done' WHERE id = 4711`, 'cancel(jsonb)'],
    ['outbox', `DELETE FROM outbox`, 'decide(jsonb)'],
    [
      'run_ledger',
      `INSERT INTO run_ledger (idempotency_key, order_id, status) VALUES ('a', 'b', 'pending')`,
      'decide(jsonb)',
    ],
    ['run_ledger', `UPDATE run_ledger SET status = 'done' WHERE idempotency_key = 'refund:pending'`, 'decide(jsonb)'],
  ])('%s: %s is refused with the function to call', async (view, sql, hint) => {
    const s = await restaurant();
    const error = await s.client.query(sql).then(
      () => undefined,
      (e: unknown) => e as { code: string; hint: string; message: string },
    );
    expect(error).toMatchObject({ code: 'CM008', message: `the view ${view} cannot be written` });
    expect(error?.hint).toContain(hint);
  });

  test('rows of the views cannot be locked: that would hold what a relay needs', async () => {
    const s = await restaurant();
    expect(
      await s.sqlstate(
        `SELECT * FROM outbox WHERE status = 'pending' ORDER BY created_at LIMIT 10 FOR UPDATE SKIP LOCKED`,
      ),
    ).toBe('0A000');
  });
});

test('gauges count what is unfinished', async () => {
  const s = await restaurant();
  await claimOne(s).catch(() => undefined);
  const gauges = new Map(
    (await s.rows<{ name: string; label: string; value: number }>('select * from gauges')).map((g) => [
      `${g.name} ${g.label}`.trim(),
      g.value,
    ]),
  );
  expect(gauges.get('effects_arrived')).toBe(1);
  expect(gauges.get('effects_queued')).toBe(3);
  expect(gauges.get('effects_waiting held')).toBe(1);
  expect(gauges.get('effects_waiting delayed')).toBe(1);
  expect(gauges.get('lanes_leased')).toBe(1);
  expect(gauges.get('lanes_parked failed')).toBe(1);
  expect(gauges.get('effects_unknown issue_refund')).toBe(1);
  expect(gauges.get('relays_live')).toBe(0);
  expect(gauges.get('oldest_arrival_age_ms')).toBeGreaterThan(0);
});
