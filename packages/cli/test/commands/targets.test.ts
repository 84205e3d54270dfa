import { createDatabase, withClient } from '@comanda/test-support';
import { expect, test } from 'vitest';
import { on } from '../cli.js';

const by = ['--by', 'ana', '--reason', 'they asked'];
const report = (url: string, request: object) =>
  withClient(url, (client) =>
    client.query('select * from comanda.target_report($1::text::jsonb)', [
      JSON.stringify({ relay: 'relay-1', ...request }),
    ]),
  );

test('lists what is not as usual, and says so when everything is', async () => {
  const { url } = await createDatabase();
  const run = on(url);
  expect((await run('targets')).out).toBe(
    'No target has a breaker, a pause or a limit at this moment: everything flows.\n',
  );
  await report(url, { target: 'payments', broke: true, reason: 'http_401', openMs: 60_000 });
  await report(url, { target: 'mail', pauseMs: 60_000, reason: 'http_429' });
  await run('targets', 'limit', 'crm', '--rate', '2.5', ...by);
  const { out } = await run('targets', 'list');
  expect(out).toMatch(/^payments +open +\d+s/m);
  expect(out).toMatch(/^ {4}not closed for .*: http_401$/m);
  expect(out).toMatch(/^mail +closed/m);
  expect(out).toMatch(/^ {4}paused: http_429$/m);
  expect(out).toMatch(/^crm +closed +2\.5 +ana$/m);
  expect((await run('targets', '--json')).json()).toMatchObject([
    { target: 'payments', breaker: 'open', breaker_reason: 'http_401' },
    { target: 'mail', breaker: 'closed', pause_reason: 'http_429' },
    { target: 'crm', rate_per_second: 2.5, concurrency: null, set_by: 'ana', shares: [] },
  ]);
  expect((await run('attention')).out).toMatch(/^Breaker open {2}1$/im);
});

test('a named person pauses, resumes, closes and limits', async () => {
  const { url } = await createDatabase();
  const run = on(url);
  await report(url, { target: 'payments', broke: true, reason: 'http_401' });
  expect((await run('targets', 'pause', 'payments', '--for', '2h', ...by)).out).toMatch(
    /^payments: breaker open, paused for (2h|1h 59m), limits are those of the relays’ configuration\.$/m,
  );
  expect((await run('targets', 'resume', 'payments', ...by)).out).toMatch(/not paused/);
  expect((await run('targets', 'close', 'payments', ...by)).out).toMatch(/^payments: breaker closed, not paused/);
  const limited = await run('targets', 'limit', 'payments', '--rate', 'none', '--concurrency', '3', '--json', ...by);
  expect(limited.json()).toMatchObject({ rate_per_second: null, concurrency: 3, set_by: 'ana' });
  const back = await run('targets', 'limit', 'payments', '--of-code', '--json', ...by);
  expect(back.json()).toMatchObject({ concurrency: null, set_by: null });
  const { rows } = await withClient(url, (client) =>
    client.query(`select actor, reason from comanda.audit where act = 'target'`),
  );
  expect(rows).toEqual(Array.from({ length: 5 }, () => ({ actor: 'ana', reason: 'they asked' })));
});

test.each([
  [['pause', 'payments', '--by', 'ana'], /--reason/],
  [['limit', 'payments', ...by], /Say which limit/],
  [['limit', 'payments', '--rate', 'many', ...by], /A number or "none" is expected/],
  [['limit', 'payments', '--concurrency', '1.5', ...by], /whole number from 1 to 10000/],
  [['limit', 'payments', '--of-code', '--rate', '1', ...by], /takes neither/],
])('targets %j is refused', async (words, problem) => {
  const { code, out, err } = await on((await createDatabase()).url)('targets', ...words);
  expect([code, out, err]).toEqual([2, '', expect.stringMatching(problem)]);
});
