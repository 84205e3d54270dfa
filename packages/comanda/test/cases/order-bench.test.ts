import { expect, test } from 'vitest';
import { bench } from './kit.js';
import { ORDER_SETUP, orderBench, type Way } from './order-bench.js';

/** 4 s in all; COMANDA_LONG=1 gives each way 20 s. */
const MS: Readonly<Record<Way, number>> =
  process.env['COMANDA_LONG'] === '1'
    ? { ours: 20_000, 'position at decide': 20_000, 'lock in decide': 20_000 }
    : { ours: 4_000, 'position at decide': 1_000, 'lock in decide': 2_500 };

test('P6: eight callers, before and after their lock, three lanes: no inversion and no deadlock, unlike the two ways one would write first', {
  timeout: 120_000,
}, async () => {
  const b = await bench();
  await b.rows(ORDER_SETUP);
  const clients = await Promise.all(Array.from({ length: 8 }, () => b.db.connect()));
  const ours = await orderBench(clients, 'ours', MS.ours);
  const atDecide = await orderBench(clients, 'position at decide', MS['position at decide']);
  await b.rows('truncate naive_outbox');
  const locked = await orderBench(clients, 'lock in decide', MS['lock in decide']);
  const figures = JSON.stringify([ours, atDecide, locked], null, 2);
  expect(ours, figures).toMatchObject({ inversions: 0, deadlocks: 0, otherErrors: 0 });
  expect(ours.commits, figures).toBeGreaterThan(100);
  // The premises: without them the test would prove nothing.
  expect(atDecide.inversions, figures).toBeGreaterThan(0);
  expect(locked.deadlocks, figures).toBeGreaterThan(0);
  if (process.env['COMANDA_LONG'] === '1') console.info(figures);
});
