import { setTimeout as delay } from 'node:timers/promises';
import type { Disturber } from './disturber.js';
import type { Person } from './person.js';
import type { SoakResult } from './result.js';
import type { Stage } from './stage.js';
import { type Look, look } from './watch.js';

/** Looks at the database every two seconds, as an operator's monitoring would. */
export interface Watcher {
  /** Waits until no due work is older than `overdueMs`. Counts it as a quiet time, and as a failed one when that takes longer than `withinMs`. */
  caughtUp(overdueMs: number, withinMs: number): Promise<void>;
  findings(): Pick<
    SoakResult,
    'looks' | 'looksUnattended' | 'looksFailed' | 'holes' | 'quietTimes' | 'slowestCatchUpMs' | 'notCaughtUp'
  >;
  readonly done: Promise<void>;
}

export interface WatcherOptions {
  readonly stage: Stage;
  readonly disturber: Disturber;
  readonly person: Person;
  readonly began: number;
  readonly runMs: number;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

const LOOK_MS = 2_000;
const TELL_MS = 60_000;
const HOLES_KEPT = 20;

export function watchOver(options: WatcherOptions): Watcher {
  const { stage, tell, signal, began } = options;
  const counts = { looks: 0, looksUnattended: 0, looksFailed: 0 };
  const holes: string[] = [];
  const quiet = { quietTimes: 0, slowestCatchUpMs: 0, notCaughtUp: 0 };
  let last: Look | undefined;

  const once = async (): Promise<void> => {
    try {
      last = await look(stage.pool);
      counts.looks += 1;
    } catch {
      counts.looksFailed += 1;
      return;
    }
    if (last.unattended.length === 0) return;
    counts.looksUnattended += 1;
    const found = last.unattended.map(({ what, thing }) => `${what}: ${thing}`).join(', ');
    if (holes.length < HOLES_KEPT) holes.push(`after ${seconds(began)} s ${found}`);
    tell(`UNATTENDED after ${seconds(began)} s: ${found}`);
  };

  const run = async (): Promise<void> => {
    let toldAt = began;
    while (!signal.aborted) {
      await once();
      if (Date.now() - toldAt >= TELL_MS) {
        toldAt += TELL_MS;
        tell(lineOf(options, last, counts));
      }
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  };

  return {
    async caughtUp(overdueMs, withinMs) {
      const from = Date.now();
      quiet.quietTimes += 1;
      for (;;) {
        const seen = await look(stage.pool).catch(() => undefined);
        const took = Date.now() - from;
        quiet.slowestCatchUpMs = Math.max(quiet.slowestCatchUpMs, took);
        if (seen !== undefined && seen.oldestDueMs < overdueMs) return;
        if (took > withinMs) {
          quiet.notCaughtUp += 1;
          tell(`OVERDUE after ${seconds(began)} s: ${JSON.stringify(seen)}`);
          return;
        }
        await delay(200);
      }
    },
    findings: () => ({ ...counts, ...quiet, holes }),
    done: run(),
  };
}

function lineOf(
  { stage, disturber, person, began }: WatcherOptions,
  last: Look | undefined,
  counts: { looks: number },
): string {
  const done = Object.values(disturber.counts).reduce((sum, n) => sum + n, 0);
  const lines = (stage.elder.child?.lines ?? []) as readonly { readonly rss?: number }[];
  const rss = lines.findLast((line) => line.rss !== undefined)?.rss ?? 0;
  const minute = Math.round((Date.now() - began) / 60_000);
  return (
    `minute ${minute}: ${last?.unfinished ?? '?'} effects open, ${last?.unknown ?? '?'} unknown, oldest due ${last?.oldestDueMs ?? '?'} ms; ` +
    `${done} disturbances, ${person.resolved} resolved by a person; ${counts.looks} looks at unattended; relay has ${Math.round(rss / 2 ** 20)} MiB`
  );
}

function seconds(began: number): number {
  return Math.round((Date.now() - began) / 1_000);
}
