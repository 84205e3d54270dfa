import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Random } from '../random.js';
import { type Entry, keyOf } from './books.js';
import { type InHand, inHands, stillOpen, untilAtRest } from './hands.js';
import type { Part } from './parts.js';
import type { Supervised } from './supervisor.js';

/** What a kill waits for. */
export type Moment =
  /** A provider has written that it accepted, and its answer is not read yet. Dies: the relay that asked, or both. */
  | { readonly when: 'accepted'; readonly target: string; readonly dies: 'asker' | 'both' }
  /** An order is on its way. Dies: order-triage, some milliseconds later. */
  | { readonly when: 'deciding' }
  /** Nothing. Dies: any relay. */
  | { readonly when: 'random' };

/** One `kill -9`. */
export interface Kill {
  /** Milliseconds on the demo's clock. */
  readonly at: number;
  readonly victims: readonly string[];
  readonly when: Moment['when'];
  /** What the provider had just accepted. */
  readonly target?: string;
  readonly key?: string;
  /** Keys of the effects that the victims had claimed to do now, by what the providers' books said of them at that moment. */
  readonly accepted: readonly string[];
  readonly notAccepted: readonly string[];
}

export interface KillerOptions {
  readonly relays: readonly Supervised[];
  readonly triage: Supervised;
  readonly pool: Pool;
  readonly random: Random;
  readonly now: () => number;
  /** Whether a provider has accepted this key, by its book. */
  readonly isAccepted: (target: string, key: string) => boolean;
  readonly onKill: (kill: Kill) => void;
  readonly signal: AbortSignal;
}

/** Kills until the signal fires. It has to be told at once what the providers write, and that an order was sent. */
export interface Killer {
  onEntry(target: string, entry: Entry): void;
  onOrder(): void;
  readonly done: Promise<void>;
}

const MOMENTS: readonly Moment[] = [
  { when: 'accepted', target: 'payments', dies: 'asker' },
  { when: 'random' },
  { when: 'accepted', target: 'mail', dies: 'asker' },
  { when: 'deciding' },
  { when: 'accepted', target: 'payments', dies: 'both' },
  { when: 'accepted', target: 'warehouse', dies: 'asker' },
  { when: 'accepted', target: 'mail', dies: 'asker' },
  { when: 'accepted', target: 'crm', dies: 'asker' },
];

const GAP_MS = { min: 600, span: 1_400 };
/** A moment that does not come within this time is not waited for. */
const PATIENCE_MS = 1_500;
const DOWN_MS = { min: 300, span: 700 };

export function startKiller(options: KillerOptions): Killer {
  const { pool, random, signal } = options;
  const heldBy = new Map<string, number>();
  let watcher: ((event: Seen) => void) | undefined;

  const strike = async (moment: Moment): Promise<void> => {
    const blow = await waitAndKill(options, moment, (watch) => {
      watcher = watch;
    });
    watcher = undefined;
    if (blow === undefined) return;
    const at = options.now();
    const hands = (await Promise.all(blow.dead.map((part) => leftBy(pool, part)))).flat();
    const atRisk = hands.filter(({ head, target }) => head && target !== 'mail'); // mails are looked up instead
    for (const { key } of atRisk) heldBy.set(key, (heldBy.get(key) ?? 0) + 1);
    const accepted = hands.filter(({ target, key }) => options.isAccepted(target, key));
    const waiting = hands.filter((hand) => hand.head && !accepted.includes(hand));
    const { dead: _, ...facts } = blow;
    const keys = (list: typeof hands): readonly string[] => list.map(({ key }) => key);
    options.onKill({ at, ...facts, accepted: keys(accepted), notAccepted: keys(waiting) });
  };

  /** An effect in whose execution three processes die is put aside as a killer of processes. Here it is innocent: never a third time. */
  const spare = async (): Promise<void> => {
    const twice = [...heldBy].flatMap(([key, times]) => (times >= 2 ? [key] : []));
    while (!signal.aborted && (await stillOpen(pool, twice)).length > 0) await delay(150);
    for (const key of twice) heldBy.delete(key);
  };

  const run = async (): Promise<void> => {
    for (let i = Math.floor(random() * 3); ; i += 1) {
      await delay(GAP_MS.min + random() * GAP_MS.span, undefined, { signal }).catch(() => undefined);
      await spare();
      if (signal.aborted) return;
      try {
        await strike(MOMENTS[i % MOMENTS.length] ?? { when: 'random' });
      } catch (error) {
        // Stopped in the middle of a blow: the pool that it counts with is closed.
        if (signal.aborted) return;
        throw error;
      }
    }
  };

  return {
    onEntry: (target, entry) => watcher?.({ target, entry }),
    onOrder: () => watcher?.('order'),
    done: run(),
  };
}

type Seen = 'order' | { readonly target: string; readonly entry: Entry };
type Blow = Pick<Kill, 'victims' | 'when' | 'target' | 'key'> & { readonly dead: readonly Part[] };

async function leftBy(pool: Pool, { name, pid, facts: { relay } }: Part): Promise<readonly InHand[]> {
  if (typeof relay !== 'string') return [];
  await untilAtRest(pool, `${name} ${pid}`);
  return await inHands(pool, relay);
}

/** Waits for the moment and kills in the same turn of the event loop; when it does not come, kills any relay. */
function waitAndKill(
  options: KillerOptions,
  moment: Moment,
  watch: (onSeen: (event: Seen) => void) => void,
): Promise<Blow | undefined> {
  const { relays, triage, random } = options;
  return new Promise((resolve) => {
    let over = false;
    const kill = (victims: readonly Supervised[], facts: Omit<Blow, 'victims' | 'dead'>): void => {
      if (over) return;
      const parts = victims.flatMap((victim) => victim.kill(DOWN_MS.min + random() * DOWN_MS.span) ?? []);
      if (parts.length === 0) return;
      over = true;
      clearTimeout(timer);
      resolve({ ...facts, victims: parts.map(({ name }) => name), dead: parts });
    };
    const anyRelay = (): void => {
      kill([relays[Math.floor(random() * relays.length)] ?? triage], { when: 'random' });
      if (!over) resolve(undefined);
    };
    const timer = setTimeout(anyRelay, moment.when === 'random' ? random() * 500 : PATIENCE_MS);
    watch((event) => {
      if (event === 'order') {
        if (moment.when === 'deciding') setTimeout(() => kill([triage], { when: 'deciding' }), 2 + random() * 8);
        return;
      }
      const { target, entry } = event;
      if (moment.when !== 'accepted' || moment.target !== target || entry.event !== 'accepted') return;
      const asker = relays.filter(({ name }) => name === entry.client);
      kill(moment.dies === 'both' ? relays : asker, { when: 'accepted', target, key: keyOf(entry) });
    });
  });
}
