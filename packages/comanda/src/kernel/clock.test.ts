import { describe, expect, it } from 'vitest';
import { systemClock } from './clock.js';
import { manualClock } from './manual-clock.js';

describe('clocks', () => {
  it('sleep ends early when the signal fires, and leaves nothing behind', async () => {
    const clock = manualClock();
    const stop = new AbortController();
    const early = clock.sleep(1_000, stop.signal);
    const whole = clock.sleep(1_000, new AbortController().signal);
    stop.abort();
    expect(await early).toBe(false);
    expect(clock.pending).toBe(1);
    clock.advance(1_000);
    expect(await whole).toBe(true);
    expect(await clock.sleep(1_000, stop.signal)).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it('fires in order of due time and moves both clocks', () => {
    const clock = manualClock(1_000);
    const fired: string[] = [];
    clock.after(20, () => fired.push(`b${clock.monotonicMs()}`));
    clock.after(10, () => {
      fired.push(`a${clock.monotonicMs()}`);
      clock.after(5, () => fired.push(`c${clock.monotonicMs()}`));
    });
    clock.after(10, () => fired.push('never')).cancel();
    clock.advance(30);
    expect(fired).toEqual(['a10', 'c15', 'b20']);
    expect([clock.wallMs(), clock.monotonicMs()]).toEqual([1_030, 30]);
  });

  it('L13: a year does not overflow to an immediate firing', async () => {
    let fired = false;
    const timer = systemClock.after(365 * 86_400_000, () => {
      fired = true;
    });
    await systemClock.sleep(20);
    timer.cancel();
    expect(fired).toBe(false);
  });
});
