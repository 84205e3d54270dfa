import { createDatabase, type TestDatabase, withClient } from '@comanda/test-support';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { comandaStays, on } from '../cli.js';
import { shop } from '../shop.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await shop();
});
afterAll(() => database.drop());

describe('status', () => {
  test('counts what is unfinished, with ages', async () => {
    const { code, out } = await on(database.url)('status');
    expect(code).toBe(0);
    expect(out).toMatch(/^waiting +1 +1 delayed, next in 5\dm/m);
    expect(out).toMatch(/^pending +2 +[\dms ]+$/m);
    expect(out).toMatch(/^unknown +1 +\d+s {2}may have happened$/m);
    expect(out).toMatch(/^failed +2 +\d+s {2}dead letters$/m);
    expect(out).toMatch(/^completed +2 +2 in the last hour$/m);
    expect(out).toMatch(/^relays +0 live: nothing is executed$/m);
    expect(out).toMatch(/^unattended +0$/m);
    expect(out).not.toMatch(/[\u001b\ufdd0-\ufdd5]/);
  });

  test('as JSON', async () => {
    const { code, json } = await on(database.url)('status', '--json');
    expect(code).toBe(0);
    expect(json()).toMatchObject({
      database: database.name,
      schema_version: expect.any(Number),
      environment: 'test',
      pending: 2,
      sending: 0,
      waiting: 1,
      delayed: 1,
      held: 0,
      unknown: 1,
      failed: 2,
      completed: 2,
      cancelled: 0,
      lanes_parked: 2,
      pending_oldest_ms: expect.any(Number),
      sending_oldest_ms: null,
      attention_count: expect.any(Number),
      unattended_count: 0,
      unattended: [],
      relays: [],
      switches: [{ scope: 'all', mode: 'run', version: expect.stringMatching(/^\d+$/) }],
    });
  });

  test('looks again and again, one document per line, until it is asked to stop', async () => {
    const child = comandaStays(['status', '--watch', '--every', '200ms', '--json', '--database-url', database.url]);
    const first = await child.line<{ now: string }>((line) => 'now' in line);
    await child.line(({ now }) => now !== undefined && now !== first.now);
    expect(await child.kill('SIGINT')).toEqual({ code: 0, signal: null });
  });
});

test('a structural hole is an alarm: exit code 3', async () => {
  const broken = await createDatabase();
  await withClient(broken.url, async (client) => {
    await client.query(`select comanda.decide('{"key":"a","effects":[{"kind":"k"}]}')`);
    await client.query('delete from comanda.effect_arrival');
  });
  const { code, out } = await on(broken.url)('status');
  expect(code).toBe(3);
  expect(out).toMatch(/^unattended +1: a defect, please report it$/m);
  expect(out).toMatch(/effect is nowhere +1/);
  const { code: jsonCode, json } = await on(broken.url)('status', '--json');
  expect([jsonCode, json()]).toMatchObject([3, { unattended_count: 1, unattended: [{ what: 'effect is nowhere' }] }]);
});

test('what cannot be counted in time hides nothing else, and is an alarm', async () => {
  const busy = await createDatabase();
  await withClient(busy.url, async (client) => {
    // Only "unattended" reads this table.
    await client.query('begin; lock table comanda.approval');
    const { code, out } = await on(busy.url)('status', '--statement-timeout', '2s');
    expect([code, out]).toEqual([3, expect.stringMatching(/^unattended +not counted in time/m)]);
    expect(out).toMatch(/^pending +0$/m);
    const { json } = await on(busy.url)('status', '--statement-timeout', '2s', '--json');
    expect(json()).toMatchObject({ pending: 0, unattended_count: null, attention_count: 0 });
  });
});

test('an empty installation has nothing to say', async () => {
  const empty = await createDatabase();
  const { code, out } = await on(empty.url)('status');
  expect(code).toBe(0);
  expect(out).toMatch(/^pending +0$/m);
  expect((await on(empty.url)('attention')).out).toBe('Nothing waits for a person.\n');
  expect((await on(empty.url)('effects', 'list')).out).toBe('No effect fits.\n');
});

describe('attention', () => {
  test('says for each trouble what to do', async () => {
    const { code, out } = await on(database.url)('attention');
    expect(code).toBe(0);
    for (const what of ['blocked lane  1', 'dead letter  1', 'unknown outcome  1', 'no relay for this kind  1']) {
      expect(out).toContain(what);
    }
    expect(out).toContain('look at the provider, then resolve it as completed, failed or pending.');
  });

  test('as JSON', async () => {
    const { code, json } = await on(database.url)('attention', '--json');
    expect(code).toBe(0);
    expect(json()).toContainEqual({
      what: 'unknown outcome',
      effect_id: expect.stringMatching(/^\d+$/),
      run_key: 'refund:ORD-1',
      kind: 'send_email',
      target: 'smtp',
      lane: expect.any(String),
      reason: expect.any(String),
      since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      since_ms: expect.any(Number),
      what_to_do: expect.any(String),
    });
  });
});
