import { afterThisTest, type Child, createDatabase, spawnNode, type TestDatabase } from '@comanda/test-support';
import type pg from 'pg';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import {
  completed,
  type Decided,
  type Decision,
  decideStandalone,
  defineEffect,
  type EffectDefinition,
  type Outcome,
  type PerformContext,
  type RelayEvent,
} from '../../src/index.js';
import { createRelay, type Relay, type RelayOptions } from '../../src/relay/index.js';

/** A database with the schema, a pool, and what tests of the relay do with them. */
export interface Bench {
  readonly database: TestDatabase;
  readonly pool: pg.Pool;
  decide(decision: Decision): Promise<Decided>;
  /** One decision with one effect per kind given. */
  effect(key: string, kind: string, more?: Partial<Decision['effects'][number]>): Promise<Decided>;
  /** A relay that is stopped after the test. Not started. */
  relay(options: Partial<RelayOptions> & Pick<RelayOptions, 'effects'>): Relay & { readonly events: RelayEvent[] };
  rows<Row = Record<string, unknown>>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  states(): Promise<Record<string, string>>;
  unattended(): Promise<number>;
}

export async function bench(poolSize = 12): Promise<Bench> {
  const database = await createDatabase();
  const pool = database.pool(poolSize);
  const rows = async <Row>(sql: string, params: readonly unknown[] = []): Promise<Row[]> =>
    (await pool.query(sql, [...params])).rows as Row[];
  const decide = (decision: Decision): Promise<Decided> => decideStandalone(pgStandalone(pool), decision);
  return {
    database,
    pool,
    decide,
    effect: (key, kind, more = {}) =>
      decide({
        key,
        subject: `order:${key}`,
        actor: { type: 'system', id: 'test' },
        effects: [{ kind, payload: { key }, ...more }],
      }),
    relay: (options) => {
      const events: RelayEvent[] = [];
      const relay = createRelay({
        database: pgStandalone(pool),
        lease: 2_000,
        safetyPoll: 100,
        shutdownGrace: 5_000,
        ...options,
        observer: (event) => {
          events.push(event);
          options.observer?.(event);
        },
      });
      afterThisTest(() => relay.stop());
      return Object.assign(relay, { events });
    },
    rows,
    states: async () =>
      Object.fromEntries(
        (
          await rows<{ k: string; s: string }>(
            'select idempotency_key k, state s from comanda.effect_state order by effect_id',
          )
        ).map((row) => [row.k, row.s]),
      ),
    unattended: async () => Number((await rows<{ n: string }>('select count(*) n from comanda.unattended'))[0]?.n),
  };
}

/** A kind that calls a function. Counts per key. */
export function counting(
  kind: string,
  perform: (input: unknown, context: PerformContext) => Promise<Outcome> | Outcome = () => completed(),
  more: Partial<Parameters<typeof defineEffect>[0]> = {},
): EffectDefinition & { readonly calls: Map<string, number>; readonly order: string[] } {
  const calls = new Map<string, number>();
  const order: string[] = [];
  const effect = defineEffect({
    kind,
    idempotency: 'key',
    retry: { baseDelay: 20, maxDelay: 200 },
    timeout: 5_000,
    ...more,
    perform: async (input, context) => {
      calls.set(context.idempotencyKey, (calls.get(context.idempotencyKey) ?? 0) + 1);
      order.push(context.idempotencyKey);
      return await perform(input, context);
    },
  });
  return Object.assign(effect, { calls, order });
}

/** A relay as a process of its own, on the built output. */
export function relayProcess(bench: Pick<Bench, 'database'>, config: Record<string, unknown> = {}): Child {
  return spawnNode(new URL('./fixtures/relay-process.mjs', import.meta.url), [
    JSON.stringify({ url: bench.database.pooledUrl, ...config }),
  ]);
}
