import type { RelayEvent } from 'comanda';
import { expect, test } from 'vitest';
import { createRelayLog } from './relay-log.js';
import type { LogLevel } from './relay-messages.js';
import { createTerminal } from './terminal.js';

function log(options: { readonly json?: boolean; readonly level?: LogLevel } = {}) {
  const at = { ms: 0 };
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const relayLog = createRelayLog(createTerminal(stream, stream, {}), {
    json: options.json === true,
    level: options.level ?? 'info',
    now: () => '2026-05-01T10:00:00.000Z',
    monotonicMs: () => at.ms,
  });
  return { relayLog, at, lines: () => written.join('').split('\n').slice(0, -1) };
}

const reference = {
  effectId: '7',
  decisionKey: 'refund:ORD-2041',
  idempotencyKey: 'refund:ORD-2041/refund',
  kind: 'refund',
  target: 'payments',
  lane: 'k:o',
  attempt: 2,
  fence: '41',
} as const;

const attempt: RelayEvent = {
  type: 'attempt',
  ...reference,
  outcome: 'completed',
  ms: 120,
};

test.each<[RelayEvent, string]>([
  [{ type: 'started', relayId: 'r', kinds: ['a', 'b'] }, 'relay r works on a, b'],
  [attempt, 'refund effect 7 attempt 2: completed in 120ms'],
  [
    { type: 'lease_lost', ...reference, late: 'completed' },
    'lost the lease of lane k:o while effect 7 was under way; its end: completed',
  ],
  [{ type: 'listen', up: true }, 'listens for new work'],
  [{ type: 'listen', up: false, reason: 'a pooler' }, 'does not listen, only polls: a pooler'],
  [{ type: 'held', reason: 'the switch is stop' }, 'holds: the switch is stop'],
  [{ type: 'warning', code: 'x', message: 'no answer', error: new Error('lost') }, 'no answer: lost'],
  [{ type: 'stopped', relayId: 'r' }, 'relay r has stopped'],
])('%j', (event, line) => {
  const { relayLog, lines } = log();
  relayLog.event(event);
  expect(lines()).toEqual([`10:00:00 ${line}`]);
});

test('what happens many times a second is for those who ask', () => {
  const chatty: readonly RelayEvent[] = [
    { type: 'claimed', lanes: 1, effects: 2 },
    { type: 'settled', lanes: 1, fenced: 1 },
  ];
  const count = (level: LogLevel): number => {
    const { relayLog, lines } = log({ level });
    for (const event of chatty) relayLog.event(event);
    return lines().length;
  };
  expect([count('info'), count('debug')]).toEqual([0, 2]);
});

test('the same hold is said once, another one again', () => {
  const { relayLog, lines } = log();
  for (const reason of ['stop', 'stop', 'hold', 'hold']) relayLog.event({ type: 'held', reason });
  expect(lines()).toHaveLength(2);
});

test('JSON lines carry the event with its level; errors are texts', () => {
  const { relayLog, lines } = log({ json: true });
  relayLog.event(attempt);
  relayLog.event({ ...attempt, outcome: 'unknown' });
  relayLog.event({ type: 'warning', code: 'poll_failed', message: 'no answer', error: new Error('a\nb\u001b') });
  const [first, second, third] = lines().map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(first).toMatchObject({
    at: '2026-05-01T10:00:00.000Z',
    level: 'info',
    event: 'attempt',
    effectId: '7',
    ms: 120,
  });
  expect(second).toMatchObject({ level: 'warning', outcome: 'unknown' });
  expect(third).toMatchObject({ level: 'warning', code: 'poll_failed', error: 'a\nb', errorClass: 'Error' });
});

test('every line of an effect carries by what it is found again', () => {
  const { relayLog, lines } = log({ json: true });
  relayLog.event({ type: 'started', relayId: 'relay-1', kinds: ['refund'] });
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  relayLog.event({ ...attempt, traceId, errorClass: 'http_503', errorText: 'HTTP 503' });
  relayLog.event({ type: 'lease_lost', ...reference, late: 'completed' });
  const [, tried, lost] = lines().map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(tried).toMatchObject({
    ...reference,
    traceId,
    relayId: 'relay-1',
    errorClass: 'http_503',
    errorText: 'HTTP 503',
  });
  expect(lost).toMatchObject({ ...reference, relayId: 'relay-1', event: 'lease_lost' });
});

test('the least level is the least that is written', () => {
  for (const [level, expected] of [
    ['debug', 4],
    ['info', 3],
    ['warning', 2],
    ['error', 1],
  ] as const) {
    const { relayLog, lines } = log({ level });
    relayLog.event({ type: 'claimed', lanes: 1, effects: 1 });
    relayLog.event(attempt);
    relayLog.event({ ...attempt, outcome: 'failed' });
    relayLog.note('error', 'an error');
    expect(lines(), level).toHaveLength(expected);
  }
});

test('a warning that repeats is said once a minute with a count, and again after it was over', () => {
  const { relayLog, at, lines } = log();
  const fail = (): void =>
    relayLog.event({ type: 'warning', code: 'poll_failed', message: 'no answer', error: new Error(`port ${at.ms}`) });
  for (at.ms = 0; at.ms < 59_000; at.ms += 1_000) fail();
  expect(lines()).toEqual(['10:00:00 no answer: port 0']);
  at.ms = 60_000;
  fail();
  expect(lines().at(-1)).toBe('10:00:00 no answer: port 60000 (and 58 times more since it was last said)');
  relayLog.event({ type: 'recovered', code: 'poll_failed', times: 60, ms: 60_000 });
  expect(lines().at(-1)).toBe('10:00:00 poll_failed is over: it failed 60 times in 1m');
  fail();
  expect(lines()).toHaveLength(4);
  // Another trouble is said although this one is still going on.
  relayLog.event({ type: 'warning', code: 'newer_kind', message: 'refund version 3 waits for a newer relay' });
  relayLog.note('warning', 'an idle connection broke and is replaced: reset');
  relayLog.note('warning', 'an idle connection broke and is replaced: reset');
  expect(lines()).toHaveLength(6);
});

test('no line holds a known secret, in whatever field a stranger puts it', () => {
  for (const json of [true, false]) {
    const { relayLog, lines } = log({ json, level: 'debug' });
    const secret = 'pa"ss/wörd 123';
    relayLog.hide([secret, 'postgresql://app:hunter22@db/shop']);
    relayLog.event({ ...attempt, errorText: `no: ${secret}`, kind: secret });
    relayLog.event({
      type: 'warning',
      code: 'x',
      message: `m ${encodeURIComponent(secret)}`,
      error: new Error(secret),
    });
    relayLog.event({ type: 'listen', up: false, reason: 'cannot reach postgresql://app:hunter22@db/shop' });
    relayLog.event({ type: 'started', relayId: 'r', kinds: [secret] });
    relayLog.event({ type: 'held', reason: `Authorization: Bearer abcdefghijklmnop.1` });
    relayLog.note('error', `uncaught ${JSON.stringify({ secret })}`, { detail: secret });
    const text = lines().join('\n');
    expect(text.match(/redacted/g)?.length).toBeGreaterThanOrEqual(6);
    expect(text).not.toMatch(/wörd|w%C3|hunter22|abcdefghijklmnop/);
  }
});
