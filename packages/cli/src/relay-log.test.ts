import type { RelayEvent } from 'comanda';
import { expect, test } from 'vitest';
import { createRelayLog } from './relay-log.js';
import { createTerminal } from './terminal.js';

function log(options: { readonly json?: boolean; readonly verbose?: boolean } = {}) {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const relayLog = createRelayLog(createTerminal(stream, stream, {}), {
    json: options.json === true,
    verbose: options.verbose === true,
    now: () => '2026-05-01T10:00:00.000Z',
  });
  return { relayLog, lines: () => written.join('').split('\n').slice(0, -1) };
}

const attempt: RelayEvent = {
  type: 'attempt',
  effectId: '7',
  kind: 'refund',
  attempt: 2,
  outcome: 'completed',
  ms: 120,
};

test.each<[RelayEvent, string]>([
  [{ type: 'started', relayId: 'r', kinds: ['a', 'b'] }, 'relay r works on a, b'],
  [attempt, 'refund effect 7 attempt 2: completed in 120ms'],
  [
    { type: 'lease_lost', lane: 'k:o', effectId: '7', late: 'completed' },
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
  const count = (verbose: boolean): number => {
    const { relayLog, lines } = log({ verbose });
    for (const event of chatty) relayLog.event(event);
    return lines().length;
  };
  expect([count(false), count(true)]).toEqual([0, 2]);
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
  expect(third).toMatchObject({ level: 'warning', code: 'poll_failed', error: 'a\nb\u001b' });
});
