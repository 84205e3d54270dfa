import { createDatabase, type TestDatabase } from '@comanda/test-support';
import { decideStandalone, defineEffect, failed } from 'comanda';
import { pgStandalone } from 'comanda/adapters/pg';
import { createRelay } from 'comanda/relay';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { on } from './cli.js';

/** Clears the screen, sets the title, goes to another line, turns the direction of writing, hides. */
const EVIL = '\u001b[2J\u001b]0;owned\u0007\r\n\u202e\u2066\u009b31m\u200b\ufdd3';
const STEERS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u2028-\u202e\u2066-\u2069\ufdd0-\ufdd5]/;

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
  const db = pgStandalone(database.pool());
  const fail = defineEffect({
    kind: `kind${EVIL}`,
    target: `target${EVIL}`,
    idempotency: 'natural',
    perform: async () => failed({ errorClass: `class${EVIL}`, errorText: `text${EVIL}`, providerId: `id${EVIL}` }),
  });
  await decideStandalone(db, {
    key: `key${EVIL}`,
    subject: `subject${EVIL}`,
    actor: { type: 'agent', id: `id${EVIL}`, onBehalfOf: { type: 'human', id: `ana${EVIL}` } },
    tenant: `tenant${EVIL}`,
    reason: `reason${EVIL}`,
    trigger: `trigger${EVIL}`,
    model: `model${EVIL}`,
    effects: [
      fail({}, { name: `name${EVIL}`, orderingKey: `order${EVIL}` }),
      fail({ text: EVIL }, { orderingKey: `order${EVIL}` }),
    ],
  });
  const relay = createRelay({ database: db, effects: [fail], aiActions: 'enabled', softwareVersion: `v${EVIL}` });
  await relay.start();
  await relay.drain({ within: '20s' });
  await relay.stop();
  const by = ['--by', `by${EVIL}`, '--reason', `because${EVIL}`];
  await on(database.url)('switch', 'hold', `kind:x${EVIL}`, ...by, '--owner', `owner${EVIL}`);
  await on(database.url)('effects', 'redrive', `key${EVIL}/name${EVIL}`, ...by);
});
afterAll(() => database.drop());

test.each<readonly string[]>(
  [
    ['status'],
    ['attention'],
    ['effects', 'list'],
    ['effects', 'show', `key${EVIL}`, '--payload'],
    ['explain', `key${EVIL}`],
    ['explain', `kex${EVIL}`],
    ['switch'],
    ['switch', 'show', `kind:y${EVIL}`],
    ['effects', 'list', '--schema', `s${EVIL}`],
  ].flatMap((args) => [args, [...args, '--json']]),
)('%j', async (...args) => {
  const { out, err } = await on(database.url)(...args.filter((arg) => arg !== undefined));
  expect(`${out}${err}`).not.toMatch(STEERS);
  expect(`${out}${err}`).not.toBe('');
});

test('in JSON the texts are what they were', async () => {
  const { json } = await on(database.url)('effects', 'list', '--json');
  expect(json()).toMatchObject([{ run_key: `key${EVIL}` }, { run_key: `key${EVIL}`, name: `name${EVIL}` }]);
});
