import { eventually } from '@comanda/test-support';
import type pg from 'pg';
import type { Behaviour, KindName } from '../kinds.js';
import type { Act } from '../processes/configuration.js';
import type { BookEntry } from './book.js';
import type { ActEnd } from './hand.js';
import { clearUp } from './person.js';

/** An effect of a path, as it is decided. */
export interface Planned {
  readonly ref: string;
  readonly behave?: readonly Behaviour[];
  /** Shares a lane with all others of its path that say so. */
  readonly lane?: true;
  readonly delayMs?: number;
  readonly kind?: string;
}

/** What a path is played on: one database, one provider, one kind. */
export interface Stage {
  readonly kind: KindName;
  readonly run: string;
  /** The provider refuses what is sent. */
  readonly refuses: boolean;
  /** Decides one decision with these effects, from outside. */
  decide(key: string, ...effects: readonly Planned[]): Promise<void>;
  /** The decision of {@link decide} as a parameter for `comanda.decide`. */
  decision(key: string, ...effects: readonly Planned[]): object;
  query<Row>(sql: string, request?: unknown): Promise<readonly Row[]>;
  book(): Promise<readonly BookEntry[]>;
  /** What has become of an effect: its id, and its state in the words of `effect_state`. */
  effect(
    ref: string,
  ): Promise<{ readonly id: string; readonly state: string; readonly parked: string | null } | undefined>;
  /** Waits for a condition. */
  until(what: string, condition: () => Promise<boolean>): Promise<void>;
  /** An act of an application: by the process under test, or by another one if that was killed. Repeated until it is known how it ended. */
  act(...statements: Act['statements']): Promise<ActEnd>;
  /** Says that something is wrong with the run, which goes on. */
  wrong(what: string): void;
  /** Asks the relays under test to stop in order, and waits until they are gone. */
  stopRelays(): Promise<void>;
}

const PATIENCE_MS = 40_000;

/** The part of a stage that needs nothing but a database and a book. */
export function createStage(
  facts: Pick<Stage, 'kind' | 'run' | 'refuses' | 'book' | 'act' | 'stopRelays' | 'wrong'> & { readonly pool: pg.Pool },
): Stage {
  const { pool, kind, run } = facts;
  const query = async <Row>(sql: string, request?: unknown): Promise<readonly Row[]> =>
    (await pool.query(sql, request === undefined ? [] : [JSON.stringify(request)])).rows as Row[];
  const decision: Stage['decision'] = (key, ...effects) => ({
    key,
    subject: `order:${key}`,
    actor: { type: 'system', id: 'shop' },
    effects: effects.map(({ ref, behave, lane, delayMs, kind: other }) => ({
      kind: other ?? kind,
      name: ref,
      payload: { run, ref, ...(behave === undefined ? {} : { behave }) },
      ...(lane === undefined ? {} : { orderingKey: 'lane' }),
      ...(delayMs === undefined ? {} : { delayMs }),
    })),
  });
  const stage: Stage = {
    ...facts,
    query,
    decision,
    decide: async (key, ...effects) =>
      void (await query('select * from comanda.decide($1::text::jsonb)', decision(key, ...effects))),
    effect: async (ref) => {
      const [row] = await pool
        .query<{ id: string; state: string; parked: string | null }>(
          'select effect_id::text as id, state, blocked_by as parked from comanda.effect_state where name = $1',
          [ref],
        )
        .then(({ rows }) => rows);
      return row;
    },
    until: async (what, condition) => {
      // Whatever is waited for can stand behind something that only a person can clear up.
      const holds = async (): Promise<boolean> => {
        if (await condition()) return true;
        await clearUp(stage);
        return false;
      };
      await eventually(holds, { what, withinMs: PATIENCE_MS, everyMs: 25 });
    },
  };
  return stage;
}
