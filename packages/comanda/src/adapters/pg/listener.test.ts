import { expect, test } from 'vitest';
import { manualClock } from '../../kernel/manual-clock.js';
import { pgListener } from './listener.js';

/** Lets everything that is ready run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function attemptsWithin(ms: number, random: number): Promise<{ attempts: number; states: unknown[] }> {
  const clock = manualClock();
  const states: unknown[] = [];
  let attempts = 0;
  const listener = pgListener({
    clock,
    random: () => random,
    connect: async () => {
      attempts += 1;
      throw new Error('the server is in recovery');
    },
  });
  const handle = await listener.listen(
    'c',
    () => undefined,
    (...state) => states.push(state),
  );
  for (let passed = 0; passed < ms; passed += 50) {
    await settled();
    clock.advance(50);
  }
  await handle.close();
  return { attempts, states };
}

test.each([0, 0.5, 0.999])(
  'N06: a server that is away is asked at most 10 times in 10 s, however the dice fall (%d)',
  async (random) => {
    const { attempts, states } = await attemptsWithin(10_000, random);
    expect(attempts).toBeGreaterThanOrEqual(4);
    expect(attempts).toBeLessThanOrEqual(10);
    expect(states).toEqual([[false, 'the server is in recovery']]);
  },
);

test('N06: in the long run it is asked each 15 to 30 s', async () => {
  const { attempts } = await attemptsWithin(600_000, 0.5);
  expect(attempts).toBeLessThanOrEqual(40);
});

test('M03: close() ends a wait and an attempt that never answers', async () => {
  for (const connect of [() => new Promise<never>(() => undefined), () => Promise.reject(new Error('away'))]) {
    const handle = await pgListener({ clock: manualClock(), connect }).listen(
      'c',
      () => undefined,
      () => undefined,
    );
    await settled();
    await handle.close();
    await handle.close();
  }
});
