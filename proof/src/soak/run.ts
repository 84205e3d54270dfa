import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { randomOf } from '../random.js';
import { type Disturber, startDisturber } from './disturber.js';
import { readEvidence } from './evidence.js';
import { reckon } from './judge.js';
import { judgeMemory, type MemorySample } from './memory.js';
import type { SoakOptions } from './options.js';
import { type Person, startPerson } from './person.js';
import type { SoakResult } from './result.js';
import { type Stage, setStage, urlsOf } from './stage.js';
import { hotTables, look } from './watch.js';
import { type Watcher, watchOver } from './watcher.js';

export interface SoakRun extends Pick<SoakOptions, 'minutes' | 'seed' | 'rate' | 'pooler'> {
  /** Told about once a minute, and when something is wrong. */
  readonly tell?: (line: string) => void;
  /** Ends the run early; it is drained and judged all the same. */
  readonly enough?: AbortSignal;
}

/** A run that is shorter is disturbed more often. */
const SHORT_MINUTES = 2;
const QUIET_EVERY_MS = 5 * 60_000;
/** In a quiet time, nothing due may be older, and this must be so after so long at the latest. */
const OVERDUE_MS = 5_000;
const CAUGHT_UP_WITHIN_MS = 90_000;
const DRAINED_WITHIN_MS = 240_000;

/** Runs a soak to its end and judges it. Everything that it starts has ended when it resolves or rejects. */
export async function soak(options: SoakRun): Promise<SoakResult> {
  const random = randomOf(options.seed);
  const runMs = options.minutes * 60_000;
  const crashes: string[] = [];
  const tell = options.tell ?? (() => undefined);
  const over = new AbortController();
  const starting = new AbortController();
  const memoryEveryMs = Math.min(10_000, runMs / 40);
  const stage = await setStage({
    ...options,
    random,
    memoryEveryMs,
    signal: starting.signal,
    onCrash: (why) => {
      crashes.push(why);
      tell(why);
    },
  });
  try {
    const began = Date.now();
    const person = startPerson({
      pool: stage.pool,
      random: randomOf(options.seed + 7),
      providers: providersAsked(stage),
      maySpeak: () => stage.server.up && ![stage.elder, ...stage.mortals].some(({ paused }) => paused),
      signal: over.signal,
    });
    const disturber = startDisturber({
      stage,
      random: randomOf(options.seed + 11),
      gapMs: options.minutes < SHORT_MINUTES ? [400, 1_200] : [3_000, 10_000],
      signal: over.signal,
    });
    const watcher = watchOver({ stage, disturber, person, began, runMs, tell, signal: over.signal });
    const early = await phases(stage, disturber, watcher, began, runMs, options.enough);
    const keptAtEnd = await kept(stage);
    const lived = Date.now() - began;
    for (const producer of stage.producers) await producer.stop();
    await disturber.rest();
    const drainMs = await drained(stage, watcher);
    over.abort();
    await Promise.all([disturber.done, person.done, watcher.done]);
    return {
      ...reckon(await readEvidence({ pool: stage.pool, books: booksOf(stage), diaries: stage.diaries })),
      ...factsOf(options, stage, disturber, person, watcher),
      minutes: Math.round(lived / 600) / 100,
      memory: judgeMemory(memoryOf(stage, began), lived),
      keptBytes: [...early.kept, keptAtEnd],
      hotAtTenth: early.hot,
      hotAtEnd: await hotTables(stage.pool),
      crashes,
      drainMs,
    };
  } finally {
    over.abort();
    starting.abort();
    await stage.stop();
  }
}

/** Lets it run, with quiet times in which everything must catch up. Takes the first measures at a tenth. */
async function phases(
  stage: Stage,
  disturber: Disturber,
  watcher: Watcher,
  began: number,
  runMs: number,
  enough: AbortSignal | undefined,
): Promise<{ readonly kept: readonly number[]; readonly hot: SoakResult['hotAtTenth'] }> {
  let measured: Awaited<ReturnType<typeof phases>> | undefined;
  let quietAt = QUIET_EVERY_MS;
  while (Date.now() - began < runMs && enough?.aborted !== true) {
    await delay(Math.min(500, runMs / 100));
    const at = Date.now() - began;
    if (measured === undefined && at >= 0.125 * runMs && stage.server.up)
      measured = { kept: [await kept(stage)], hot: await hotTables(stage.pool).catch(() => []) };
    if (at < quietAt || at > 0.97 * runMs) continue;
    quietAt += QUIET_EVERY_MS;
    await disturber.rest();
    await watcher.caughtUp(OVERDUE_MS, CAUGHT_UP_WITHIN_MS);
    disturber.goOn();
  }
  return measured ?? { kept: [], hot: [] };
}

/** What the eldest relay has in its heap after a full collection. */
async function kept({ elder }: Stage): Promise<number> {
  const { child } = elder;
  if (child === undefined) return Number.NaN;
  const before = child.lines.filter(isKept).length;
  child.send('kept');
  const line = await child
    .line<{ kept: number }>(() => child.lines.filter(isKept).length > before, 20_000)
    .catch(() => undefined);
  return line === undefined ? Number.NaN : (child.lines.filter(isKept).at(-1)?.kept ?? Number.NaN);
}

function isKept(line: unknown): line is { readonly kept: number } {
  return typeof line === 'object' && line !== null && 'kept' in line;
}

function memoryOf({ elder }: Stage, began: number): readonly MemorySample[] {
  const lines = (elder.child?.lines ?? []) as readonly { readonly rss?: number; readonly t?: number }[];
  return lines.flatMap(({ rss, t }) => (rss === undefined || t === undefined ? [] : [{ at: t - began, bytes: rss }]));
}

async function drained(stage: Stage, watcher: Watcher): Promise<number> {
  const began = Date.now();
  await watcher.caughtUp(OVERDUE_MS, CAUGHT_UP_WITHIN_MS);
  while (Date.now() - began < DRAINED_WITHIN_MS) {
    const open = await look(stage.pool).catch(() => undefined);
    if (open?.unfinished === 0) break;
    await delay(200);
  }
  return Date.now() - began;
}

function factsOf(
  { seed, rate, pooler }: SoakRun,
  stage: Stage,
  disturber: Disturber,
  person: Person,
  watcher: Watcher,
): Omit<
  SoakResult,
  | keyof ReturnType<typeof reckon>
  | 'minutes'
  | 'memory'
  | 'keptBytes'
  | 'hotAtTenth'
  | 'hotAtEnd'
  | 'crashes'
  | 'drainMs'
> {
  return {
    seed,
    rate,
    pooler,
    postgres: stage.server.version,
    node: process.versions.node,
    cores: availableParallelism(),
    disturbances: disturber.counts,
    redriven: person.redriven,
    ...watcher.findings(),
  };
}

function booksOf({ providers }: Stage): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(providers).map(([name, { book }]) => [name, book]));
}

/** Where a person asks about a target. Shelves have no memory of single requests. */
function providersAsked({ providers }: Stage): Readonly<Record<string, string>> {
  const { payments, warehouse, mail, post } = urlsOf(providers);
  return {
    payments: `${payments}/refunds`,
    warehouse: `${warehouse}/movements`,
    mail: `${mail}/messages`,
    post: `${post}/messages`,
  };
}
