import { fileURLToPath } from 'node:url';
import { createDatabase, withClient } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { comandaStays, on } from '../cli.js';

const CONFIG = fileURLToPath(new URL('../fixtures/relay-config.mjs', import.meta.url));
const by = ['--by', 'ana', '--reason', 'wrong amounts'];

/** A relay that was heard `seconds` ago for the last time, and said nothing since. */
const silentRelay = (url: string, id: string, seconds: number) =>
  withClient(url, (client) =>
    client.query(
      `insert into comanda.relay (id, switch_version, beat_at) values ($1, 1, clock_timestamp() - $2 * interval '1 second')`,
      [id, seconds],
    ),
  );

test('shows every scope, or one', async () => {
  const run = on((await createDatabase()).url);
  expect((await run('switch')).out).toMatch(/^all +run +\d+ +[\dmhs ]+ +migrate\n {4}installed$/m);
  await run('switch', 'hold', 'kind:mail', ...by, '--owner', 'eva', '--backup', 'tom');
  const one = await run('switch', 'show', 'kind:mail');
  expect(one.out).toMatch(/^kind:mail +hold +\d+ +[\dmhs ]+ +ana +eva \/ tom\n {4}wrong amounts$/m);
  expect(one.out).not.toMatch(/^all/m);
  expect((await run('switch', 'show', 'kind:other')).out).toBe(
    'kind:other was never switched: it runs when "all" runs.\n',
  );
  const { json } = await run('switch', '--json');
  expect(json()).toMatchObject({
    switches: [
      { scope: 'all', mode: 'run' },
      { scope: 'kind:mail', mode: 'hold', owner_name: 'eva', backup_name: 'tom', set_by: 'ana' },
    ],
    relays: [],
  });
});

test('sets all when no scope is named, with a name and a reason', async () => {
  const run = on((await createDatabase()).url);
  const { code, out } = await run('switch', 'stop', ...by);
  expect([code, out]).toEqual([0, expect.stringMatching(/^all is on stop \(version \d+\)\.\n/)]);
  expect((await run('status')).out).toMatch(/^switch +1 scope off$/m);
  for (const missing of [['--by', 'ana'], ['--reason', 'x'], []]) {
    const refused = await run('switch', 'stop', ...missing);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('needs --by and --reason')]);
  }
});

test.each([
  ['stop', 'orders'],
  ['stop', 'actor:robot'],
  ['off', 'all'],
])('switch %s %s is refused: exit code 2', async (...words) => {
  const { code, out } = await on((await createDatabase()).url)('switch', ...words, ...by);
  expect([code, out]).toEqual([2, '']);
});

describe('--wait', () => {
  test('waits for every live relay, and tells which ones obey', async () => {
    const { url } = await createDatabase();
    const relay = comandaStays(['relay', '--config', CONFIG, '--json', '--database-url', url]);
    const { relayId } = await relay.line<{ relayId: string }>((line) => line['event'] === 'started');
    const { code, json } = await on(url)('switch', 'stop', 'all', ...by, '--wait', '--json');
    expect([code, json()]).toEqual([
      0,
      {
        scope: 'all',
        mode: 'stop',
        version: expect.any(String),
        sending: 0,
        confirmed: true,
        obeying: [relayId],
        behind: [],
        silent: [],
      },
    ]);
    await relay.line((line) => line['event'] === 'held');
    expect((await on(url)('switch', 'run', 'all', ...by, '--wait')).out).toContain('Confirmed: 1 live relay obeys.');
  });

  test('without a relay there is nobody to wait for', async () => {
    const { code, out } = await on((await createDatabase()).url)('switch', 'stop', 'all', ...by, '--wait');
    expect([code, out]).toEqual([0, expect.stringContaining('No relay is live')]);
  });

  test('a live relay that does not follow: exit code 5 when the time is over', async () => {
    const { url } = await createDatabase();
    await silentRelay(url, 'slow', 1);
    const { code, out } = await on(url)('switch', 'stop', 'all', ...by, '--wait', '--within', '300ms');
    expect(code).toBe(5);
    expect(out).toContain('Not confirmed by every relay; 0 obey.');
    expect(out).toContain('relay slow is live and still obeys version 1');
  });

  test('a silent relay is named and never counts as confirmed, unless it is known to be dead', async () => {
    const { url } = await createDatabase();
    await silentRelay(url, 'lost', 90);
    const { code, out } = await on(url)('switch', 'stop', 'all', ...by, '--wait', '--within', '300ms');
    expect(code).toBe(5);
    expect(out).toMatch(/relay lost has been silent for 1m 3\ds: it is dead, or paused and may still send/);
    const { code: again, json } = await on(url)(
      'switch',
      'stop',
      'all',
      ...by,
      '--wait',
      '--within',
      '300ms',
      '--json',
    );
    expect([again, json()]).toMatchObject([5, { confirmed: false, silent: ['lost'] }]);
    expect((await on(url)('switch', 'stop', 'all', ...by, '--wait', '--gone', 'lost')).code).toBe(0);
  });
});
