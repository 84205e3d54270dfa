import { setTimeout as delay } from 'node:timers/promises';
import { between, oneOf, type Random } from '../random.js';
import { LEASE_MS, TIMEOUT_MS } from './effects.js';
import { spared } from './spare.js';
import type { Stage } from './stage.js';

/** Disturbs until it is told to rest. */
export interface Disturber {
  /** How often each thing was done. */
  readonly counts: Readonly<Record<string, number>>;
  /** Begins nothing new, and waits until what was begun is over. */
  rest(): Promise<void>;
  goOn(): void;
  readonly done: Promise<void>;
}

export interface DisturberOptions {
  readonly stage: Stage;
  readonly random: Random;
  /** Between two disturbances of one sort: at least, at most. */
  readonly gapMs: readonly [number, number];
  readonly signal: AbortSignal;
}

type Deed = (stage: Stage, random: Random) => Promise<unknown>;

const downMs = (random: Random): number => between(random, 200, 1_500);

/** Of processes and of the switch. Those that can take a relay's work away from it are `lethal`. */
const PROCESSES: Readonly<Record<string, { readonly deed: Deed; readonly lethal: boolean; readonly weight: number }>> =
  {
    'relay killed': { weight: 8, lethal: true, deed: ({ mortals }, r) => oneOf(r, mortals).kill(downMs(r)) },
    'both killed': {
      weight: 1,
      lethal: true,
      deed: ({ mortals }, r) => Promise.all(mortals.map((m) => m.kill(downMs(r)))),
    },
    'relay paused': {
      weight: 4,
      lethal: true,
      deed: ({ mortals, elder }, r) => oneOf(r, [...mortals, elder]).pause(LEASE_MS + between(r, 300, 3_000)),
    },
    'caller killed': { weight: 4, lethal: false, deed: ({ producers }, r) => oneOf(r, producers).kill(downMs(r)) },
    'switched off': {
      weight: 2,
      lethal: false,
      deed: async (stage, r) => {
        const scope = oneOf(r, ['all', 'kind:refund', 'target:warehouse', 'kind:mail']);
        await switchTo(stage, scope, oneOf(r, ['stop', 'hold', 'drain']));
        await delay(between(r, 500, 5_000));
        await switchTo(stage, scope, 'run');
      },
    },
  };

/** Of wires, the server and the providers. */
const AROUND: typeof PROCESSES = {
  'wire cut': { weight: 8, lethal: false, deed: async (s, r) => aWire(s, r).cut() },
  'wire cut in a message': { weight: 5, lethal: false, deed: async (s, r) => cutInMessage(s, r) },
  'wire stalled': {
    weight: 3,
    lethal: true,
    deed: async (s, r) => {
      const wire = aWire(s, r);
      wire.stall();
      await delay(between(r, 300, LEASE_MS + 2_000));
      await wire.heal();
    },
  },
  'answers lost': {
    weight: 3,
    lethal: true,
    deed: async (s, r) => {
      const wire = aWire(s, r);
      wire.lose(oneOf(r, ['toClient', 'toServer']));
      await delay(between(r, 100, 2_000));
      wire.cut(); // what was lost stays lost: these connections are useless
      await wire.heal();
    },
  },
  'wire slow': {
    weight: 2,
    lethal: false,
    deed: async (s, r) => {
      const wire = aWire(s, r);
      wire.latency(between(r, 20, 150));
      await delay(between(r, 1_000, 4_000));
      await wire.heal();
    },
  },
  'server restarted': {
    weight: 1,
    lethal: true,
    deed: ({ server }, r) => server.restart('fast', between(r, 0, 2_000)),
  },
  'server crashed': {
    weight: 1,
    lethal: true,
    deed: ({ server }, r) => server.restart('immediate', between(r, 0, 2_000)),
  },
  'provider silent': { weight: 2, lethal: false, deed: (s, r) => aProvider(s, r, 'hang') },
  'provider refuses': { weight: 2, lethal: false, deed: (s, r) => aProvider(s, r, 'refuse') },
};

export function startDisturber({ stage, random, gapMs, signal }: DisturberOptions): Disturber {
  const counts: Record<string, number> = {};
  let resting = false;
  let working = 0;

  const loop = async (deeds: typeof PROCESSES): Promise<void> => {
    const names = Object.entries(deeds).flatMap(([name, { weight }]) => Array<string>(weight).fill(name));
    while (!signal.aborted) {
      await delay(between(random, ...gapMs), undefined, { signal }).catch(() => undefined);
      if (resting || signal.aborted) continue;
      const name = oneOf(random, names);
      working += 1;
      try {
        const chosen = deeds[name];
        if (chosen === undefined || (chosen.lethal && !(await spared(stage.pool, signal)))) continue;
        await chosen.deed(stage, random);
        counts[name] = (counts[name] ?? 0) + 1;
      } finally {
        working -= 1;
      }
    }
  };

  return {
    counts,
    async rest() {
      resting = true;
      while (working > 0) await delay(50);
      for (const wire of Object.values(stage.wires)) await wire.heal();
    },
    goOn() {
      resting = false;
    },
    done: Promise.all([loop(PROCESSES), loop(AROUND)]).then(() => undefined),
  };
}

const aWire = ({ wires }: Stage, random: Random) => oneOf(random, Object.values(wires));

function cutInMessage(stage: Stage, random: Random): void {
  aWire(stage, random).cutAfter(Math.ceil(between(random, 1, 4_000)), oneOf(random, ['toServer', 'toClient']));
}

async function aProvider({ providers }: Stage, random: Random, mode: 'hang' | 'refuse'): Promise<void> {
  const forMs = Math.round(between(random, TIMEOUT_MS, 5 * TIMEOUT_MS));
  const refuseStatus = oneOf(random, [503, 500, 429]);
  await oneOf(random, Object.values(providers)).control({ mode, forMs, refuseStatus });
  await delay(forMs);
}

/** The switch is set however long it takes: one that stays off would be our mistake, not the product's. */
async function switchTo({ pool }: Stage, scope: string, mode: string): Promise<void> {
  const request = JSON.stringify({ scope, mode, by: 'soak', reason: 'to see what happens' });
  for (;;) {
    try {
      await pool.query('select * from comanda.switch_set($1::text::jsonb)', [request]);
      return;
    } catch {
      await delay(200);
    }
  }
}
