import { type TestDatabase, withClient } from '@comanda/test-support';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { on } from '../cli.js';
import { shop, work } from '../shop.js';

interface Listed {
  readonly effect_id: string;
  readonly run_key: string;
  readonly name: string;
  readonly state: string;
}

let database: TestDatabase;
beforeAll(async () => {
  database = await shop();
});
afterAll(() => database.drop());

const list = async (...args: readonly string[]): Promise<readonly string[]> => {
  const { json } = await on(database.url)('effects', 'list', '--json', ...args);
  return json<readonly Listed[]>().map(({ run_key, name, state }) => `${run_key}/${name} ${state}`);
};

describe('effects list', () => {
  test('newest first', async () => {
    expect(await list()).toEqual([
      'sms:1/send_sms pending',
      'later:1/crm_note waiting',
      'refund:ORD-3/issue_refund failed',
      'refund:ORD-2/crm_note pending',
      'refund:ORD-2/issue_refund failed',
      'refund:ORD-1/send_email unknown',
      'refund:ORD-1/crm_note completed',
      'refund:ORD-1/issue_refund completed',
    ]);
  });

  test.each<[readonly string[], readonly string[]]>([
    [
      ['--state', 'failed'],
      ['refund:ORD-3/issue_refund failed', 'refund:ORD-2/issue_refund failed'],
    ],
    [['--state', 'unknown'], ['refund:ORD-1/send_email unknown']],
    [['--state', 'waiting'], ['later:1/crm_note waiting']],
    [
      ['--state', 'pending'],
      ['sms:1/send_sms pending', 'refund:ORD-2/crm_note pending'],
    ],
    [['--state', 'sending'], []],
    [['--kind', 'send_sms'], ['sms:1/send_sms pending']],
    [['--subject', 'order:ORD-3'], ['refund:ORD-3/issue_refund failed']],
    [
      ['--key', 'refund:ORD-2'],
      ['refund:ORD-2/crm_note pending', 'refund:ORD-2/issue_refund failed'],
    ],
    [['--key', 'refund:ORD-2/crm_note'], ['refund:ORD-2/crm_note pending']],
    [['--key', 'nothing'], []],
    [['--limit', '1'], ['sms:1/send_sms pending']],
  ])('%j', async (filter, expected) => {
    expect(await list(...filter)).toEqual(expected);
  });

  test('as a table, which says when there are more', async () => {
    const { out } = await on(database.url)('effects', 'list', '--limit', '2');
    const lines = out.split('\n');
    expect(lines[0]).toMatch(/^effect +state +decision +name +age +tries +next$/);
    expect(lines[1]).toMatch(/^ +\d+ +pending +sms:1 +send_sms +[\dms ]+ +0 +due now$/);
    expect(lines[3]).toMatch(/^There are more/);
  });
});

describe('effects show', () => {
  test('one effect with each attempt', async () => {
    const { code, out } = await on(database.url)('effects', 'show', 'refund:ORD-1/issue_refund');
    expect(code).toBe(0);
    expect(out).toMatch(/^effect \d+ {2}issue_refund {2}completed$/m);
    expect(out).toMatch(/^key +refund:ORD-1\/issue_refund$/m);
    expect(out).toMatch(/^tries +2 of 4$/m);
    expect(out).toMatch(/ 1 +end +retry +\d+ms +503 +relay-[0-9a-f]{8}\n {4}busy$/m);
    expect(out).toMatch(/ 2 +end +completed +\d+ms +200 +relay-[0-9a-f]{8} +re_1$/m);
    expect(out).not.toContain('flaky');
  });

  test('the payload is shown only when asked for', async () => {
    expect((await on(database.url)('effects', 'show', 'refund:ORD-1/issue_refund', '--payload')).out).toContain(
      '{"mode": "flaky"}',
    );
    const { json } = await on(database.url)('effects', 'show', 'refund:ORD-1/issue_refund', '--json');
    const [shown] = json<readonly Record<string, unknown>[]>();
    expect(shown).toMatchObject({
      state: 'completed',
      attempts: 2,
      attempts_made: [
        { outcome: 'retry', status: 503 },
        { outcome: 'completed', provider_id: 're_1' },
      ],
      outcomes: [{ state: 'completed' }],
      requests: [],
    });
    expect(shown).not.toHaveProperty('payload');
  });

  test('all effects of a decision, or one by its number', async () => {
    const all = await on(database.url)('effects', 'show', 'refund:ORD-1', '--json');
    const effects = all.json<readonly Listed[]>();
    expect(effects.map(({ name }) => name)).toEqual(['issue_refund', 'crm_note', 'send_email']);
    const one = await on(database.url)('effects', 'show', effects[2]?.effect_id ?? '', '--json');
    expect(one.json<readonly Listed[]>().map(({ name }) => name)).toEqual(['send_email']);
  });

  test.each(['nothing', '999999999', '99999999999999999999999', ''])('%j is not known: exit code 4', async (word) => {
    const { code, out, err } = await on(database.url)('effects', 'show', word);
    expect([code, out]).toEqual([4, '']);
    expect(err).toMatch(/^comanda: No effect is known under .*\(CLI_NOT_FOUND, /);
  });
});

describe('acts', () => {
  const by = ['--by', 'ana', '--reason', 'asked by the customer'];

  test('each needs a name and a reason', async () => {
    for (const act of [
      ['cancel', 'sms:1'],
      ['skip', '1'],
      ['redrive', '1'],
      ['resolve', '1', '--as', 'failed'],
    ]) {
      const { code, err } = await on(database.url)('effects', ...act, '--by', 'ana');
      expect([code, err]).toEqual([2, expect.stringContaining("Required option '--reason <text>' not specified")]);
    }
    const empty = await on(database.url)(
      'effects',
      'redrive',
      'refund:ORD-3/issue_refund',
      '--by',
      '',
      '--reason',
      'x',
    );
    expect([empty.code, empty.err]).toEqual([2, expect.stringContaining('COMANDA_ACTOR_REQUIRED')]);
  });

  test('cancel is exact while an effect waits, and a request afterwards', async () => {
    const own = await shop();
    const waiting = await on(own.url)('effects', 'cancel', 'later:1', ...by);
    expect([waiting.code, waiting.out]).toEqual([
      0,
      expect.stringContaining('later:1/crm_note: cancelled; it was not sent'),
    ]);
    const { json } = await on(own.url)('effects', 'cancel', 'sms:1', 'send_sms', '--json', ...by);
    expect(json()).toEqual([{ effect_id: expect.any(String), name: 'send_sms', answer: 'requested' }]);
    const late = await on(own.url)('effects', 'cancel', 'refund:ORD-1', 'crm_note', ...by);
    expect(late.out).toContain('too late');
    const none = await on(own.url)('effects', 'cancel', 'nothing', ...by);
    expect([none.code, none.err]).toEqual([4, expect.stringContaining('COMANDA_NOT_FOUND')]);
  });

  test('skip, redrive and resolve are applied by a relay, and the answer is on record', async () => {
    const own = await shop();
    const run = on(own.url);
    const skipped = await run('effects', 'skip', 'refund:ORD-2/issue_refund', ...by);
    expect(skipped.out).toContain('skip is asked for; no relay is live, so nothing applies it yet');
    const again = await run('effects', 'skip', 'refund:ORD-2/issue_refund', ...by);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('already requested by ana')]);
    await run('effects', 'resolve', 'refund:ORD-1/send_email', '--as', 'completed', '--provider-id', 'msg_9', ...by);
    await withClient(own.url, (client) =>
      client.query(
        `update comanda.effect set payload = '{}' where run_id = (select id from comanda.run where key = 'refund:ORD-3')`,
      ),
    );
    const { json } = await run('effects', 'redrive', 'refund:ORD-3/issue_refund', '--json', ...by);
    expect(json()).toEqual([
      { request_id: expect.any(String), effect_id: expect.any(String), action: 'redrive', answer: 'requested' },
    ]);
    await work(own);
    const states = async (key: string): Promise<readonly string[]> =>
      (await run('effects', 'list', '--key', key, '--json')).json<readonly Listed[]>().map(({ state }) => state);
    expect(await states('refund:ORD-2')).toEqual(['completed', 'failed']);
    expect(await states('refund:ORD-1/send_email')).toEqual(['completed']);
    expect(await states('refund:ORD-3')).toEqual(['completed']);
    const shown = await run('effects', 'show', 'refund:ORD-1/send_email');
    expect(shown.out).toMatch(/resolve as completed +ana +asked by the customer +resolved as completed/);
  });

  test('an act wants one effect', async () => {
    const { code, err } = await on(database.url)('effects', 'redrive', 'refund:ORD-1', ...by);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/refund:ORD-1 names 3 effects\. Name one of them by its identifier/),
    ]);
    const wrong = await on(database.url)('effects', 'resolve', '1', '--as', 'maybe', ...by);
    expect([wrong.code, wrong.err]).toEqual([
      2,
      expect.stringContaining('Allowed choices are completed, failed, pending'),
    ]);
  });
});
