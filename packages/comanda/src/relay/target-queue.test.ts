import { describe, expect, it } from 'vitest';
import { manualClock } from '../kernel/manual-clock.js';
import { Stop } from '../kernel/stop.js';
import { createTargetQueue } from './target-queue.js';

const bench = () => {
  const clock = manualClock();
  const queue = createTargetQueue(clock);
  const went: number[] = [];
  const released: number[] = [];
  const enter = (stop = new Stop()): Stop => {
    const go = (): void => {
      went.push(clock.monotonicMs());
      queue.asked();
    };
    const turn = queue.enter({ stop });
    if (turn === undefined) go();
    void turn?.then((r) => (r === undefined ? go() : released.push(r.delayMs)));
    return stop;
  };
  const advance = async (ms: number, step = 10): Promise<void> => {
    for (let done = 0; done < ms; done += step) {
      clock.advance(step);
      await Promise.resolve();
      await Promise.resolve();
    }
  };
  return { clock, queue, went, released, enter, advance };
};
const FOREVER = Number.POSITIVE_INFINITY;

describe('the queue of a target', () => {
  it('without a limit nobody waits', () => {
    const { queue, enter, went } = bench();
    for (let i = 0; i < 5; i += 1) enter();
    expect([went, queue.inFlight]).toEqual([[0, 0, 0, 0, 0], 5]);
  });

  it('a pace lets one after the other go, without a burst after a quiet time', async () => {
    const { clock, queue, enter, went, advance } = bench();
    clock.advance(60_000);
    queue.share({ slots: undefined, rate: 5, until: FOREVER });
    for (let i = 0; i < 4; i += 1) enter();
    await advance(1_000);
    expect(went.map((at) => at - 60_000)).toEqual([0, 100, 300, 500]);
  });

  it('what a late timer missed is caught up with, a tenth of a second at most', async () => {
    const { clock, queue, enter, went } = bench();
    queue.share({ slots: undefined, rate: 100, until: FOREVER });
    enter();
    clock.advance(5_000);
    for (let i = 0; i < 50; i += 1) enter();
    expect(went.filter((at) => at === 5_000)).toHaveLength(11);
  });

  it('a database that answers late makes no burst: few are let go before it has answered', async () => {
    const { clock, queue, advance } = bench();
    queue.share({ slots: undefined, rate: 20, until: FOREVER });
    const gone: number[] = [];
    const enter = () => Promise.resolve(queue.enter({ stop: new Stop() }));
    for (let i = 0; i < 30; i += 1) void enter().then(() => gone.push(clock.monotonicMs()));
    await advance(1_000);
    expect(gone).toHaveLength(4);
    for (let i = 0; i < 4; i += 1) queue.asked();
    for (let i = 0; i < 100; i += 1) {
      const before = gone.length;
      await advance(10);
      for (let n = before; n < gone.length; n += 1) queue.asked();
    }
    // Four left in one moment; a second later there are no more than a second's worth and what may be caught up with.
    expect(gone.length).toBeLessThanOrEqual(20 + 4);
    expect(gone.length).toBeGreaterThanOrEqual(20);
  });

  it('slots are given on as they are left', async () => {
    const { queue, enter, went, advance } = bench();
    queue.share({ slots: 2, rate: undefined, until: FOREVER });
    for (let i = 0; i < 4; i += 1) enter();
    await advance(100);
    expect(went).toHaveLength(2);
    queue.leave();
    await advance(10);
    expect([went.length, queue.inFlight]).toEqual([3, 2]);
  });

  it('nobody goes after the share has ended, and all go on when it is renewed', async () => {
    const { clock, queue, enter, went, advance } = bench();
    queue.share({ slots: 5, rate: undefined, until: 50 });
    clock.advance(50);
    enter();
    await advance(100);
    expect(went).toEqual([]);
    queue.share({ slots: 5, rate: undefined, until: FOREVER });
    await advance(10);
    expect(went).toHaveLength(1);
  });

  it('whoever waits is sent away when the share is nothing, and when its lane is stopped', async () => {
    const { queue, enter, released, went, advance } = bench();
    queue.share({ slots: 1, rate: undefined, until: FOREVER });
    enter();
    enter().stop(new Error('lease lost'));
    enter();
    await advance(10);
    expect([went.length, released]).toEqual([1, [0]]);
    queue.share({ slots: 0, rate: undefined, until: FOREVER });
    await advance(10);
    expect(released).toEqual([0, 500]);
  });

  it('somebody who comes does not overtake those who wait', async () => {
    const { queue, enter, went, advance } = bench();
    queue.share({ slots: undefined, rate: 1, until: FOREVER });
    enter();
    enter();
    await advance(500);
    enter();
    await advance(2_000);
    expect(went).toHaveLength(3);
    expect(went[1]).toBe(1_000);
  });
});
