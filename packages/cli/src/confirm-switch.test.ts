import type { RelayRow } from 'comanda/internal';
import { expect, test } from 'vitest';
import { judge } from './confirm-switch.js';

const relay = (id: string, switch_version: string, live = true): RelayRow => ({
  id,
  switch_version,
  live,
  kinds: [],
  software_version: null,
  schema_version: 1,
  started_at: '',
  beat_at: '',
  silent_ms: live ? 100 : 60_000,
});
const ids = (rows: readonly RelayRow[]): string => rows.map(({ id }) => id).join();

test('confirmed when every live relay obeys the version or a later one', () => {
  expect(judge([relay('a', '5'), relay('b', '6')], '5', []).confirmed).toBe(true);
  expect(judge([], '5', []).confirmed).toBe(true);
});

test('versions are numbers, not texts', () => {
  expect(judge([relay('a', '10')], '9', []).confirmed).toBe(true);
  expect(judge([relay('a', '9')], '10', []).confirmed).toBe(false);
});

test('a live relay that is behind, and a silent one that had obeyed, both stand in the way', () => {
  const { confirmed, obeying, behind, silent } = judge(
    [relay('a', '5'), relay('b', '4'), relay('c', '9', false)],
    '5',
    [],
  );
  expect([confirmed, ids(obeying), ids(behind), ids(silent)]).toEqual([false, 'a', 'b', 'c']);
});

test('a silent relay that is known to be dead is not waited for; a live one cannot be talked away', () => {
  expect(judge([relay('a', '5'), relay('c', '1', false)], '5', ['c']).confirmed).toBe(true);
  expect(judge([relay('b', '4')], '5', ['b']).confirmed).toBe(false);
});
