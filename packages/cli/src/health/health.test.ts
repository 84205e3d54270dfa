import type { RelayStatus } from 'comanda/relay';
import { expect, test } from 'vitest';
import { isAlive, judge } from './judge.js';
import { metricsText } from './metrics.js';

const fine: RelayStatus = {
  state: 'running',
  lanes: 2,
  listening: true,
  switchVersion: '7',
  sinceLastPollMs: 900,
  sinceLastBeatMs: 1_000,
  sinceLastEndMs: 100_000,
  holds: null,
};

test.each<[Partial<RelayStatus>, number, readonly string[]]>([
  [{}, 1_000, []],
  [{ sinceLastPollMs: 10_000 }, 1_000, []],
  [{ sinceLastPollMs: 10_001 }, 1_000, ['no successful look at the database for 10 s']],
  [{ sinceLastPollMs: 59_000 }, 20_000, []],
  [{ sinceLastPollMs: 61_000 }, 20_000, ['no successful look at the database for 61 s']],
  [{ sinceLastBeatMs: 12_500 }, 1_000, ['no heartbeat in the database for 12 s']],
  [{ holds: 'the switch is stop' }, 1_000, ['it executes nothing: the switch is stop']],
  [{ state: 'stopping', sinceLastPollMs: 60_000 }, 1_000, ['the relay is stopping']],
  [{ state: 'starting' }, 1_000, ['the relay is starting']],
  [{ listening: false }, 1_000, []],
])('%j with a poll each %i ms', (more, pollMs, reasons) => {
  expect(judge({ ...fine, ...more }, pollMs, 5)).toMatchObject({
    ok: reasons.length === 0,
    reasons,
    oldestDueAgeMs: 5,
  });
});

test.each<[Partial<RelayStatus>, number | null, boolean]>([
  [{}, 100_000, false],
  [{}, 80_000, true],
  [{}, null, true],
  [{ sinceLastEndMs: 80_000 }, 100_000, true],
])('red when work is due and nothing comes to an end: %j, due for %s ms', (more, dueMs, ok) => {
  const health = judge({ ...fine, ...more }, 1_000, dueMs);
  expect(health.ok).toBe(ok);
  expect(health.reasons).toEqual(ok ? [] : ['work has been due for 100 s and nothing came to an end here for 100 s']);
});

test('alive is everything but stopped', () => {
  const states = ['new', 'starting', 'running', 'stopping', 'stopped'] as const;
  expect(states.filter((state) => !isAlive({ ...fine, state }))).toEqual(['stopped']);
});

test('labels of strangers cannot make lines of their own', () => {
  const text = metricsText([
    { name: 'lanes_due', label: 'a"} 1\ncomanda_lanes_due{label="b\\\r\u0000', value: 3 },
    { name: 'relays_live', label: '', value: 0.5 },
    { name: 'lanes_due', label: 'mail', value: 1 },
    { name: 'no name\n', label: '', value: 1 },
  ]);
  expect(text).toBe(
    [
      '# TYPE comanda_lanes_due gauge',
      'comanda_lanes_due{label="a\\"} 1\\ncomanda_lanes_due{label=\\"b\\\\"} 3',
      'comanda_lanes_due{label="mail"} 1',
      '# TYPE comanda_relays_live gauge',
      'comanda_relays_live 0.5',
      '',
    ].join('\n'),
  );
});
