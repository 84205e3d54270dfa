import { describe, expect, it } from 'vitest';
import { defineEffect } from './define-effect.js';
import { completed } from './outcomes.js';
import { createRegistry } from './registry.js';
import { type BreakerOptions, breakerOf, checkLimits, type TargetLimits } from './target-limits.js';

const registry = createRegistry(
  [defineEffect({ kind: 'refund', target: 'payments', idempotency: 'key', perform: async () => completed() })],
  30_000,
);
const check = (limits: unknown) => checkLimits(limits as Record<string, TargetLimits>, registry);

describe('limits of targets', () => {
  it('are taken as they are', () => {
    expect(check({ payments: { ratePerSecond: 0.5, concurrency: 3 } }).get('payments')).toEqual({
      ratePerSecond: 0.5,
      concurrency: 3,
    });
    expect(check({}).size).toBe(0);
  });

  it.each([
    [[], 'targets is no object; write targets: { payments: { ratePerSecond: 50 } }'],
    [{ payment: { concurrency: 1 } }, 'targets.payment: no effect has this target; did you mean payments?'],
    [{ mail: { concurrency: 1 } }, 'targets.mail: no effect has this target; there is payments'],
    [{ payments: 5 }, 'targets.payments is no object; write { ratePerSecond: 50, concurrency: 20 }'],
    [{ payments: {} }, 'targets.payments sets no limit; say ratePerSecond, concurrency or both'],
    [{ payments: { rate: 5 } }, 'targets.payments has an unknown property rate; there is ratePerSecond, concurrency'],
    [{ payments: { concurency: 5 } }, 'targets.payments has an unknown property concurency; did you mean concurrency?'],
    [
      { payments: { ratePerSecond: 0 } },
      'targets.payments.ratePerSecond is 0, allowed are numbers from 0.001 to 100000',
    ],
    [
      { payments: { ratePerSecond: '50' } },
      `targets.payments.ratePerSecond is '50', allowed are numbers from 0.001 to 100000`,
    ],
    [
      { payments: { concurrency: 1.5 } },
      'targets.payments.concurrency is 1.5, allowed are whole numbers from 1 to 10000',
    ],
  ])('%j is refused', (limits, problem) => {
    expect(() => check(limits)).toThrow(`The configuration is not valid: ${problem}.`);
  });
});

describe('breaker options', () => {
  it('have defaults per reason, and one word for both', () => {
    expect(breakerOf({})).toEqual({
      failures: 10,
      down: { openMs: 1_000, openMaxMs: 60_000 },
      refused: { openMs: 10_000, openMaxMs: 600_000 },
    });
    const both = { openMs: 120_000, openMaxMs: 120_000 };
    expect(breakerOf({ openFor: '2m', openAtMost: '90s' })).toMatchObject({ down: both, refused: both });
  });

  it.each<[BreakerOptions, string]>([
    [{ failures: 0 }, 'breaker.failures is 0, allowed are whole numbers from 1 to 10000'],
    [{ openFor: '2h' }, `breaker.openFor is '2h', allowed is 10ms to 1h`],
  ])('%j is refused', (options, problem) => {
    expect(() => breakerOf(options)).toThrow(problem);
  });
});
