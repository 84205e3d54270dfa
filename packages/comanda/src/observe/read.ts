import { QUERIES } from '../generated/sql.js';
import { fromDatabaseError } from '../kernel/errors.js';
import { inSchema } from '../kernel/schema-name.js';
import type { Queryable } from '../ports/database.js';
import type {
  AttemptRow,
  AttentionRow,
  EffectListRow,
  EffectRow,
  OutcomeRow,
  RelayRow,
  RequestRow,
  StatusRow,
  SwitchRow,
  TargetRow,
  UnattendedRow,
} from './rows.js';

/** Filters of {@link Reader.effects}; each may be left out. */
export interface EffectFilter {
  readonly state?: string | undefined;
  readonly kind?: string | undefined;
  readonly subject?: string | undefined;
  /** Key of a decision, `<key>/<name>`, or an explicit idempotency key. */
  readonly key?: string | undefined;
  readonly limit: number;
}

/** Everything that is on record about some effects. */
export interface EffectFile {
  readonly effects: readonly EffectRow[];
  readonly attempts: readonly AttemptRow[];
  readonly outcomes: readonly OutcomeRow[];
  readonly requests: readonly RequestRow[];
}

/** Reads of the operator's side. Nothing here writes, locks or waits. */
export interface Reader {
  status(): Promise<StatusRow>;
  relays(): Promise<readonly RelayRow[]>;
  switches(): Promise<readonly SwitchRow[]>;
  targets(): Promise<readonly TargetRow[]>;
  attention(limit: number): Promise<readonly AttentionRow[]>;
  attentionCount(): Promise<number>;
  unattended(limit: number): Promise<readonly UnattendedRow[]>;
  effects(filter: EffectFilter): Promise<readonly EffectListRow[]>;
  /** The effects that a word can mean: an id, the key of a decision, `<key>/<name>`, an explicit key. */
  find(word: string): Promise<readonly { readonly effect_id: string; readonly matched: string }[]>;
  file(effectIds: readonly string[]): Promise<EffectFile>;
}

/**
 * @param db e.g. `pgStandalone(pool)`
 * @throws ComandaError (each method) COMANDA_SCHEMA_MISSING, or the driver's error
 */
export function createReader(db: Queryable, schema: string): Reader {
  const read = <Row>(name: string, params: readonly unknown[] = []) => readQuery<Row>(db, schema, name, params);
  return {
    status: async () => one(await read<StatusRow>('observe/status'), 'status'),
    relays: () => read('observe/relays'),
    switches: () => read('observe/switches'),
    targets: () => read('observe/targets'),
    attention: (limit) => read('observe/attention', [limit]),
    attentionCount: async () => one(await read<{ n: number }>('observe/attention_count'), 'attention').n,
    unattended: (limit) => read('observe/unattended', [limit]),
    effects: ({ state, kind, subject, key, limit }) =>
      read('observe/effects_list', [state ?? null, kind ?? null, subject ?? null, key ?? null, limit]),
    find: (word) => read('observe/effects_find', [word]),
    async file(ids) {
      const [effects, attempts, outcomes, requests] = await Promise.all([
        read<EffectRow>('observe/effects', [ids]),
        read<AttemptRow>('observe/attempts', [ids]),
        read<OutcomeRow>('observe/outcomes', [ids]),
        read<RequestRow>('observe/requests', [ids]),
      ]);
      return { effects, attempts, outcomes, requests };
    },
  };
}

/** Runs one of the embedded queries in a schema. */
export async function readQuery<Row>(
  db: Queryable,
  schema: string,
  name: string,
  params: readonly unknown[],
): Promise<readonly Row[]> {
  const sql = QUERIES[name];
  if (sql === undefined) throw new Error(`there is no query ${name}`);
  try {
    return await db.query<Row>(inSchema(sql, schema), params);
  } catch (error) {
    throw fromDatabaseError(error);
  }
}

function one<Row>(rows: readonly Row[], what: string): Row {
  const [row] = rows;
  if (row === undefined) throw new Error(`the ${what} query returned no row`);
  return row;
}
