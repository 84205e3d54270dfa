import type { Clock, Timer } from './clock.js';

/** How a {@link Batcher} works. */
export interface BatcherOptions<Item, Result> {
  /** A batch leaves when so many items wait. */
  readonly maxItems: number;
  /** Items of one batch at most, when more came while the one before was under way. Default: `maxItems`. */
  readonly maxBatchItems?: number;
  /** A batch leaves when its oldest item has waited so long, in milliseconds. */
  readonly maxWaitMs: number;
  readonly clock: Clock;
  /** Handles one batch; resolves to one result per item, in order. A rejection rejects every item of the batch. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
}

/** Collects items and handles them together, one batch at a time: while one is under way, the next one fills. */
export interface Batcher<Item, Result> {
  /** Resolves to the item's own result. */
  add(item: Item): Promise<Result>;
  /** Sends what waits now; resolves when everything added before has been handled. Never rejects. */
  flush(): Promise<void>;
  /** Items that wait, without those under way. */
  readonly waiting: number;
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
}

/** Makes a {@link Batcher}. */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const { maxItems, maxBatchItems = maxItems, maxWaitMs, clock, run } = options;
  let queue: Entry<Item, Result>[] = [];
  let timer: Timer | undefined;
  let underWay: Promise<void> | undefined;

  const handle = async (batch: readonly Entry<Item, Result>[]): Promise<void> => {
    try {
      const results = await run(batch.map((entry) => entry.item));
      if (results.length !== batch.length) {
        throw new Error(`a batch of ${batch.length} items came back with ${results.length} results`);
      }
      results.forEach((result, index) => {
        batch[index]?.resolve(result);
      });
    } catch (reason) {
      for (const entry of batch) entry.reject(reason);
    }
  };

  const start = (): void => {
    timer?.cancel();
    timer = undefined;
    const batch = queue.slice(0, maxBatchItems);
    queue = queue.slice(maxBatchItems);
    underWay = handle(batch).then(() => {
      underWay = undefined;
      // What came meanwhile has waited for a whole round trip already.
      if (queue.length > 0) start();
    });
  };

  return {
    add(item) {
      return new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        if (underWay !== undefined) return;
        if (queue.length >= maxItems) start();
        else timer ??= clock.after(maxWaitMs, start);
      });
    },
    async flush() {
      if (underWay === undefined && queue.length > 0) start();
      while (underWay !== undefined) await underWay;
    },
    get waiting() {
      return queue.length;
    },
  };
}
