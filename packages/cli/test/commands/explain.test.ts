import type { TestDatabase } from '@comanda/test-support';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { on } from '../cli.js';
import { shop } from '../shop.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await shop([
    { key: 'café "日本"/\\', actor: { type: 'human', id: 'José' }, effects: [{ kind: 'crm_note', key: 'own-key' }] },
    { key: 'empty', actor: { type: 'system', id: 'x' }, effects: [] },
  ]);
});
afterAll(() => database.drop());

test('the story of one key', async () => {
  const { code, out } = await on(database.url)('explain', 'refund:ORD-1');
  expect(code).toBe(0);
  expect(out).toMatch(/^refund:ORD-1\nDecided; 1 of 3 effects unfinished\.\n/);
  expect(out).toMatch(/^Decided \d{4}-\d\d-\d\d .* UTC, [\dms ]+ ago, by agent refund-bot, on behalf of human ana\.$/m);
  expect(out).toContain('It is about order:ORD-1.\nReason: "Sent back in time."\nTriggered by webhook:orders.');
  expect(out).toContain('Made with model model-x.');
  expect(out).toMatch(/attempt 1 ended without a confirmed success in \d+ms: status 503, "busy"/);
  expect(out).toMatch(/attempt 2 completed in \d+ms: status 200; the provider calls it re_1/);
  expect(out).toMatch(/attempt 1 ended without a known outcome in \d+ms: timeout, "no answer"; it may have happened/);
  expect(out).toMatch(/→ Nothing happens by itself/);
  expect(out).toMatch(/comanda effects resolve \d+ --as completed --provider-id ID --by YOU --reason WHY/);
});

test('as JSON, with the rows that it is made of', async () => {
  const { json } = await on(database.url)('explain', 'refund:ORD-2', '--json');
  const document = json<Record<string, unknown>>();
  expect(document).toMatchObject({
    story: {
      key: 'refund:ORD-2',
      headline: 'decided; 1 of 2 effects unfinished',
      effects: [{ state: 'failed' }, { state: 'pending' }],
    },
    run: { key: 'refund:ORD-2', actor_type: 'human', effects: 2, open_effects: 1 },
    effects: [{ name: 'issue_refund' }, { name: 'crm_note' }],
    attempts: [{ outcome: 'failed', status: 422 }],
    outcomes: [{ state: 'failed' }],
    requests: [],
    relays: [],
  });
  expect(JSON.stringify(document)).not.toContain('"payload"');
});

test.each(['refund:ORD-1/send_email', 'refund:ORD-1'])('%s leads to the decision', async (word) => {
  expect((await on(database.url)('explain', word)).out).toMatch(/^refund:ORD-1\n/);
});

test('an explicit key leads to the decision, whose key is shown as it is', async () => {
  expect((await on(database.url)('explain', 'own-key')).out).toMatch(
    /^café "日本"\/\\\nCompleted: its effect has ended\./,
  );
});

test('a decision without effects', async () => {
  expect((await on(database.url)('explain', 'empty')).out).toMatch(
    /^empty\n(Completed|Decided; it implies no effect)\./,
  );
});

test.each([
  ['refnud:ORD-1', 'refund:ORD-1'],
  ['order:ORD-1', 'refund:ORD-1'],
  ['ORD-1', 'refund:ORD-1'],
])('%s is not known, exit code 4, and near to %s', async (word, near) => {
  const { code, out, err } = await on(database.url)('explain', word);
  expect([code, out]).toEqual([4, '']);
  expect(err).toContain(`No decision has the key ${word}, and none of its effects. Near to it: ${near}`);
  expect(err).toContain(`Try: comanda explain ${near}. (CLI_NOT_FOUND, `);
});

test('a key near to nothing', async () => {
  const { code, err } = await on(database.url)('explain', 'zzzzzzzz');
  expect([code, err]).toEqual([4, expect.stringContaining('see what there is: comanda effects list')]);
});
