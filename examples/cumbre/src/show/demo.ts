import { setTimeout as delay } from 'node:timers/promises';
import { randomOf } from '../random.js';
import type { BoardState } from './board.js';
import { followBook, keyOf } from './books.js';
import { countUnattended } from './evidence.js';
import { type Kill, startKiller } from './killer.js';
import { createRates } from './rates.js';
import { type Snapshot, takeSnapshot, unfinished } from './snapshot.js';
import type { Stage } from './stage.js';
import { openStorefront } from './storefront.js';

export interface DemoOptions {
  /** How long orders come in. */
  readonly seconds: number;
  readonly seed: number;
  /** How often `onBoard` is called, at most. */
  readonly everyMs: number;
  readonly onBoard: (state: BoardState) => void;
  readonly onKill: (kill: Kill) => void;
  readonly signal: AbortSignal;
}

/** What happened while the demo ran. The books and the database know the rest. */
export interface Happened {
  readonly kills: readonly Kill[];
  readonly shop: BoardState['shop'];
  readonly acknowledged: readonly string[];
  /** The most holes that the database found in itself at any moment. */
  readonly unattended: number;
}

const LOOK_MS = 200;
const ORDERS_PER_SECOND = 14;
/** How long the rest may take after the last order. */
const DRAIN_MS = 60_000;
const UNATTENDED_EVERY_MS = 2_000;

/** Lets orders in, kills, and waits until nothing is left to do, or the time for that is over. */
export async function runDemo(stage: Stage, options: DemoOptions): Promise<Happened> {
  const { pool, providers, relays, triage } = stage;
  const { seconds, seed, signal } = options;
  const startedAt = performance.now();
  const now = (): number => performance.now() - startedAt;
  const kills: Kill[] = [];
  const accepted = new Map(providers.map(({ target }) => [target, new Set<string>()]));
  const counts = { accepted: Object.fromEntries(providers.map(({ target }) => [target, 0])), replays: 0 };
  let phase: BoardState['phase'] = 'open';
  let unattended = 0;

  const closing = new AbortController();
  const killer = startKiller({
    relays,
    triage,
    pool,
    random: randomOf(seed + 1),
    now,
    isAccepted: (target, key) => accepted.get(target)?.has(key) === true,
    onKill: (kill) => {
      kills.push(kill);
      options.onKill(kill);
    },
    signal: AbortSignal.any([closing.signal, signal]),
  });
  const followers = providers.map(({ target, book }) =>
    followBook(book, (entry) => {
      killer.onEntry(target, entry); // first: every microsecond counts
      if (entry.event === 'replayed') counts.replays += 1;
      if (entry.event !== 'accepted') return;
      accepted.get(target)?.add(keyOf(entry));
      counts.accepted[target] = (counts.accepted[target] ?? 0) + 1;
    }),
  );
  const shop = openStorefront({
    url: () => (triage.part === undefined ? undefined : `http://127.0.0.1:${triage.part.facts['port']}`),
    random: randomOf(seed),
    seconds,
    ordersPerSecond: ORDERS_PER_SECOND,
    signal,
    onSent: killer.onOrder,
  });

  const rates = createRates();
  let shownAt = Number.NEGATIVE_INFINITY;
  const show = (snapshot: Snapshot): void => {
    if (phase !== 'over' && now() - shownAt < options.everyMs) return;
    shownAt = now();
    const completed = snapshot.kinds.reduce((sum, kind) => sum + kind.completed, 0);
    options.onBoard({
      ms: now(),
      phase,
      openMs: seconds * 1_000,
      snapshot,
      ...counts,
      rates: rates.add(now(), completed),
      shop: { orders: shop.orders, deliveries: shop.deliveries, twice: shop.twice, atOnce: shop.atOnce },
      parts: [triage, ...relays].map((part) => ({ name: part.name, up: part.part !== undefined, kills: part.kills })),
      kills,
    });
  };
  let nextCheck = 0;
  const look = async (): Promise<Snapshot> => {
    const snapshot = await takeSnapshot(pool);
    if (now() >= nextCheck) {
      nextCheck = now() + UNATTENDED_EVERY_MS;
      unattended = Math.max(unattended, await countUnattended(pool));
    }
    show(snapshot);
    return snapshot;
  };

  try {
    void shop.done.then(async () => {
      closing.abort();
      await killer.done;
      phase = 'draining';
    });
    let deadline = Number.POSITIVE_INFINITY;
    for (let quiet = 0; quiet < 2 && now() < deadline && !signal.aborted; ) {
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
      const snapshot = await look();
      if (phase === 'open') continue;
      deadline = Math.min(deadline, now() + DRAIN_MS);
      quiet = unfinished(snapshot) === 0 ? quiet + 1 : 0;
    }
    if (!signal.aborted) {
      phase = 'over';
      nextCheck = 0;
      await look();
    }
  } finally {
    closing.abort();
    for (const stop of followers) stop();
  }
  const { orders, deliveries, twice, atOnce } = shop;
  return { kills, shop: { orders, deliveries, twice, atOnce }, acknowledged: [...shop.acknowledged], unattended };
}
