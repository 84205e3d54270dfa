import type { Clock, Timer } from '../kernel/clock.js';
import type { Stop } from '../kernel/stop.js';

/** What this relay may use of a target's limits at the moment. `undefined` = that limit does not exist. */
export interface Share {
  readonly slots: number | undefined;
  /** Effects a second. */
  readonly rate: number | undefined;
  /** By the monotonic clock, from before the share was asked for. */
  readonly until: number;
}

/** Why somebody in the queue may not go: their lane is released, to be looked at again after this. */
export interface Released {
  readonly delayMs: number;
}

/** Those who wait for their turn at one target: one after the other, at the pace and in the number that its share allows. */
export interface TargetQueue {
  /** Resolves when it is the caller's turn, who then counts as in flight until {@link leave}; or when it is released. */
  enter(lane: { readonly stop: Stop }): Promise<Released | undefined> | undefined;
  /** The database has answered whether it may be sent. Who was let go and waits for that answer would leave in one burst with those behind it. */
  asked(): void;
  leave(): void;
  /** From now on; `undefined` = no limit. */
  share(share: Share | undefined): void;
  /** Sends everybody away who waits. */
  release(delayMs: number): void;
  readonly inFlight: number;
  readonly current: Share | undefined;
}

/** What was missed because a timer or an answer came late may be caught up with, so far; no burst beyond it. */
const CATCH_UP_MS = 100;
/** So much of the pace may be between its turn and the database's answer. */
const ASKING_MS = 200;
const NO_SHARE_MS = 500;

export function createTargetQueue(clock: Clock): TargetQueue {
  const queue: ((released: Released | undefined) => void)[] = [];
  let share: Share | undefined;
  let inFlight = 0;
  let asking = 0;
  /** The moment at which the next one may go. */
  let next = 0;
  let timer: Timer | undefined;

  /** Milliseconds until somebody may go; `undefined` = when a share comes or somebody leaves. */
  const waitMs = (now: number): number | undefined => {
    if (share === undefined) return 0;
    if (now >= share.until || inFlight >= (share.slots ?? Number.POSITIVE_INFINITY)) return undefined;
    if (share.rate === undefined) return 0;
    if (asking >= Math.max(Math.floor((share.rate * ASKING_MS) / 1_000), 1)) return undefined;
    return share.rate <= 0 ? undefined : Math.max(next - now, 0);
  };
  const take = (now: number): void => {
    inFlight += 1;
    asking += 1;
    if (share?.rate !== undefined) next = Math.max(next, now - CATCH_UP_MS) + 1_000 / share.rate;
  };
  const pump = (): void => {
    timer?.cancel();
    timer = undefined;
    for (;;) {
      const [first] = queue;
      if (first === undefined) return;
      const now = clock.monotonicMs();
      const wait = waitMs(now);
      if (wait === undefined) return;
      if (wait > 0) {
        timer = clock.after(wait, pump);
        return;
      }
      queue.shift();
      take(now);
      first(undefined);
    }
  };
  return {
    enter: (lane) => {
      const now = clock.monotonicMs();
      if (queue.length === 0 && waitMs(now) === 0) return void take(now);
      return new Promise((resolve) => {
        const stopped = (): void => {
          queue.splice(queue.indexOf(turn), 1);
          resolve({ delayMs: 0 });
        };
        const turn = (released: Released | undefined): void => {
          lane.stop.remove(stopped);
          resolve(released);
        };
        queue.push(turn);
        lane.stop.add(stopped);
        pump();
      });
    },
    asked: () => {
      asking -= 1;
      // It leaves now, whenever its turn was: those behind it keep their distance from this moment.
      if (share?.rate !== undefined && share.rate > 0)
        next = Math.max(next, clock.monotonicMs() - CATCH_UP_MS + ((asking + 1) * 1_000) / share.rate);
      pump();
    },
    leave: () => {
      inFlight -= 1;
      pump();
    },
    share: (given) => {
      share = given;
      // Nothing for us now: others may take the lanes that wait here.
      if (given !== undefined && (given.slots === 0 || given.rate === 0))
        for (const turn of queue.splice(0)) turn({ delayMs: NO_SHARE_MS });
      pump();
    },
    release: (delayMs) => {
      for (const turn of queue.splice(0)) turn({ delayMs });
    },
    get inFlight() {
      return inFlight;
    },
    get current() {
      return share;
    },
  };
}
