import { imbalances, type Reckoning } from './judge.js';
import type { MemoryVerdict } from './memory.js';
import type { HotTable } from './watch.js';

/** What a soak has found. */
export interface SoakResult extends Reckoning {
  readonly minutes: number;
  readonly seed: number;
  readonly rate: number;
  readonly postgres: string;
  readonly node: string;
  readonly cores: number;
  readonly pooler: boolean;
  readonly disturbances: Readonly<Record<string, number>>;
  /** Looks at `comanda.unattended`, those that found something, and what they found. */
  readonly looks: number;
  readonly looksUnattended: number;
  readonly holes: readonly string[];
  /** Looks that failed because the server was away or did not answer. */
  readonly looksFailed: number;
  /** Quiet times, and how long after each no due work older than the bound was left. */
  readonly quietTimes: number;
  readonly slowestCatchUpMs: number;
  readonly notCaughtUp: number;
  readonly memory: MemoryVerdict;
  /** Of the same process after a full collection: at a tenth, and at the end. */
  readonly keptBytes: readonly number[];
  readonly hotAtTenth: readonly HotTable[];
  readonly hotAtEnd: readonly HotTable[];
  readonly crashes: readonly string[];
  readonly redriven: number;
  readonly drainMs: number;
}

const MEMORY_BAR = 1.2;
/** Hot tables follow the work in hand. Dead rows are vacuumed by the tens of thousands, so that a table has some megabytes at rest. */
const HOT_BYTES = 24 * 1024 * 1024;

/**
 * Everything that is not as it must be, in words.
 *
 * @param judgesMemory a run of seconds says nothing about memory: the process is still warming up at its end
 */
export function faults(result: SoakResult, judgesMemory: boolean): readonly string[] {
  const large = result.hotAtEnd.filter(({ bytes }) => bytes > HOT_BYTES);
  return [
    ...imbalances(result),
    ...(result.looksUnattended > 0
      ? [`unattended at ${result.looksUnattended} looks: ${result.holes.join('; ')}`]
      : []),
    ...(result.looks === 0 ? ['nobody looked at comanda.unattended'] : []),
    ...(result.notCaughtUp > 0 ? [`${result.notCaughtUp} quiet times ended with work that was overdue`] : []),
    ...(judgesMemory && !(result.memory.ratio <= MEMORY_BAR)
      ? [`resident memory grew to ${result.memory.ratio} times what it was at a tenth; ${MEMORY_BAR} are allowed`]
      : []),
    ...large.map(({ table, bytes }) => `${table} has ${Math.round(bytes / 2 ** 20)} MiB at rest`),
    ...result.crashes,
  ];
}
