import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { between, type Random } from '../random.js';
import { SLOWEST_MS, TIMEOUT_MS } from './effects.js';

export interface PersonOptions {
  readonly pool: Pool;
  /** Base URLs of the providers, by target. */
  readonly providers: Readonly<Record<string, string>>;
  readonly random: Random;
  /** Nobody judges while a relay stands still: what it is about to send is not at the provider yet. */
  readonly maySpeak: () => boolean;
  readonly signal: AbortSignal;
}

export interface Person {
  readonly resolved: number;
  readonly redriven: number;
  readonly done: Promise<void>;
}

interface Item {
  readonly what: string;
  readonly effect: string;
  readonly target: string;
  readonly key: string;
  readonly reason: string | null;
}

/** What the provider has read when its caller died is accepted by then. */
const PATIENCE_MS = TIMEOUT_MS + SLOWEST_MS + 1_500;

/** Plays the person who looks at the attention list: asks the provider, and says by its evidence what became of an effect. */
export function startPerson(options: PersonOptions): Person {
  const { pool, random, signal } = options;
  const counts = { resolved: 0, redriven: 0 };

  const request = async (effect: string, action: string, more: Record<string, string>): Promise<void> => {
    const about = { effect, action, by: 'ana@soak.example', reason: 'looked at the provider', ...more };
    await pool.query('select * from comanda.request($1::text::jsonb)', [JSON.stringify(about)]);
  };

  const look = async (): Promise<void> => {
    const { rows } = await pool.query<Item>(
      `select a.what, a.effect_id::text as effect, a.target, s.idempotency_key as key, a.reason
        from comanda.attention a join comanda.effect_state s on s.effect_id = a.effect_id
        where a.what in ('unknown outcome', 'blocked lane', 'dead letter') and a.since < clock_timestamp() - $1 * interval '1 millisecond'
          and coalesce(s.ended_by, '') not like '%ana@soak%' and coalesce(a.reason, '') not like '%looked at the provider%'
        limit 100`,
      [PATIENCE_MS],
    );
    for (const { what, effect, target, key } of rows) {
      if (!options.maySpeak()) return;
      if (what !== 'unknown outcome') {
        await request(effect, 'redrive', {}); // its attempts, or the processes that tried, are used up
        counts.redriven += 1;
        continue;
      }
      const found = await atProvider(options.providers[target], key);
      if (found === undefined) continue;
      const as = found ? 'completed' : random() < 0.7 || target !== 'post' ? 'pending' : 'failed';
      await request(effect, 'resolve', { as });
      counts.resolved += 1;
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await delay(between(random, 700, 1_300), undefined, { signal }).catch(() => undefined);
      if (!signal.aborted && options.maySpeak()) await look().catch(() => undefined); // the database is away: later
    }
  };

  return {
    get resolved() {
      return counts.resolved;
    },
    get redriven() {
      return counts.redriven;
    },
    done: run(),
  };
}

/** Whether the provider has it; `undefined` when it does not say. */
async function atProvider(url: string | undefined, key: string): Promise<boolean | undefined> {
  if (url === undefined) return false; // natural: sending it again is always right
  try {
    const answer = await fetch(`${url}?reference=${encodeURIComponent(key)}&key=${encodeURIComponent(key)}`, {
      signal: AbortSignal.timeout(2_000),
    });
    return answer.status === 200 ? true : answer.status === 404 ? false : undefined;
  } catch {
    return undefined;
  }
}
