import { describe, expect, it } from 'vitest';
import { createBatcher } from './batcher.js';
import { manualClock } from './manual-clock.js';

function bench(run: (items: readonly number[]) => Promise<readonly string[]>) {
  const clock = manualClock();
  const batches: number[][] = [];
  const batcher = createBatcher<number, string>({
    maxItems: 3,
    maxWaitMs: 5,
    clock,
    run: (items) => {
      batches.push([...items]);
      return run(items);
    },
  });
  return { clock, batches, batcher };
}

const names = async (items: readonly number[]): Promise<string[]> => items.map((item) => `r${item}`);

describe('createBatcher', () => {
  it('sends when full, at once', async () => {
    const { batcher, batches } = bench(names);
    expect(await Promise.all([1, 2, 3].map((item) => batcher.add(item)))).toEqual(['r1', 'r2', 'r3']);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  it('sends what there is when the oldest item has waited long enough', async () => {
    const { batcher, batches, clock } = bench(names);
    const first = batcher.add(1);
    clock.advance(4);
    const second = batcher.add(2);
    expect(batches).toEqual([]);
    clock.advance(1);
    expect(await Promise.all([first, second])).toEqual(['r1', 'r2']);
    expect(clock.pending).toBe(0);
  });

  it('runs one batch at a time; the next one fills meanwhile and leaves at once', async () => {
    const gates: (() => void)[] = [];
    const { batcher, batches } = bench(async (items) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      return names(items);
    });
    const results = [1, 2, 3, 4, 5].map((item) => batcher.add(item));
    expect(batches).toEqual([[1, 2, 3]]);
    expect(batcher.waiting).toBe(2);
    gates[0]?.();
    await results[0];
    await Promise.resolve();
    expect(batches).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    gates[1]?.();
    expect(await Promise.all(results)).toEqual(['r1', 'r2', 'r3', 'r4', 'r5']);
  });

  it('a failed batch rejects its items and no others', async () => {
    const { batcher } = bench(async (items) => {
      if (items.includes(1)) throw new Error('down');
      return names(items);
    });
    const results = await Promise.allSettled(
      [1, 2, 3, 4].map((item) => batcher.add(item)).concat(batcher.flush().then(() => 'flushed')),
    );
    expect(results.map((result) => result.status)).toEqual([
      'rejected',
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
  });

  it('a batch with too few results rejects instead of leaving items hanging', async () => {
    const { batcher } = bench(async () => ['only one']);
    const result = batcher.add(1);
    const other = batcher.add(2);
    await batcher.flush();
    await expect(result).rejects.toThrow('2 items came back with 1 results');
    await expect(other).rejects.toThrow();
  });

  it('flush waits for everything added before it', async () => {
    const { batcher, batches } = bench(names);
    const results = [1, 2, 3, 4].map((item) => batcher.add(item));
    await batcher.flush();
    expect(batches.flat()).toEqual([1, 2, 3, 4]);
    expect(await Promise.all(results)).toHaveLength(4);
  });
});
