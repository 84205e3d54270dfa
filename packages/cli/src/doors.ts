import type { Queryable } from 'comanda';
import { fromDatabaseError, inSchema } from 'comanda/internal';

/** What a person asks of one effect. */
export interface EffectRequest {
  readonly effect: string;
  readonly action: 'skip' | 'redrive' | 'release' | 'resolve';
  readonly by: string;
  readonly reason: string;
  readonly as?: 'completed' | 'failed' | 'pending';
  readonly providerId?: string;
}

/** The answer of the SQL function `request`. */
export interface RequestAnswer {
  readonly request_id: string;
  readonly effect_id: string;
  readonly action: string;
  /** `requested` until a relay's sweep has applied it. */
  readonly answer: string;
}

/** The answer of the SQL function `cancel`, per effect. */
export interface CancelAnswer {
  readonly effect_id: string;
  readonly name: string;
  /** `cancelled`, `requested` (the owner of its lane answers at its turn) or `too late`. */
  readonly answer: string;
}

export interface SwitchChange {
  readonly scope: string;
  readonly mode: string;
  readonly by: string;
  readonly reason: string;
  readonly owner?: string;
  readonly backup?: string;
}

export interface SwitchAnswer {
  readonly scope: string;
  readonly mode: string;
  readonly version: string;
}

/** What a person adopts. */
export interface Adoption {
  readonly by: string;
  readonly reason: string;
  readonly environment?: string;
  readonly endpoint?: readonly string[];
  readonly acceptTimeline?: boolean;
}

/** The installation as it was adopted; `adopted_by` of a first installation is `migrate`. */
export interface AdoptedRow {
  readonly system_identifier: string | null;
  readonly database_oid: string | null;
  readonly timeline: number | null;
  readonly environment: string;
  readonly endpoint: string | null;
  readonly adopted_by: string | null;
}

/** What a person does to a target. Limits: `null` = none. */
export interface TargetChange {
  readonly target: string;
  readonly by: string;
  readonly reason: string;
  readonly pauseMs?: number;
  readonly resume?: true;
  readonly close?: true;
  readonly ratePerSecond?: number | null;
  readonly concurrency?: number | null;
  readonly limitsOfCode?: true;
}

/** The answer of the SQL function `target_set`. */
export interface TargetAnswer {
  readonly target: string;
  readonly breaker: string;
  readonly paused_ms: string | null;
  readonly rate_per_second: number | null;
  readonly concurrency: number | null;
  readonly set_by: string | null;
}

/** The SQL functions by which people act. Each is one statement and commits by itself. */
export interface Doors {
  cancel(request: {
    readonly key: string;
    readonly name?: string;
    readonly by: string;
    readonly reason: string;
  }): Promise<readonly CancelAnswer[]>;
  request(request: EffectRequest): Promise<readonly RequestAnswer[]>;
  adopt(request: Adoption): Promise<readonly Omit<AdoptedRow, 'adopted_by'>[]>;
  /** Fingerprint as adopted, then as it is now. */
  fingerprints(): Promise<readonly AdoptedRow[]>;
  switchSet(change: SwitchChange): Promise<readonly SwitchAnswer[]>;
  targetSet(change: TargetChange): Promise<readonly TargetAnswer[]>;
}

/** @throws ComandaError (each door) by the SQLSTATE of the function, e.g. COMANDA_NOT_FOUND */
export function createDoors(db: Queryable, schema: string): Doors {
  const door =
    <Row>(sql: string) =>
    async (request: unknown): Promise<readonly Row[]> => {
      try {
        return await db.query<Row>(inSchema(sql, schema), [JSON.stringify(request)]);
      } catch (error) {
        throw fromDatabaseError(error);
      }
    };
  return {
    cancel: door('select effect_id::text, name, answer from comanda.cancel($1::text::jsonb)'),
    request: door('select request_id::text, effect_id::text, action, answer from comanda.request($1::text::jsonb)'),
    adopt: door(
      'select system_identifier::text, database_oid::text, timeline, environment, endpoint from comanda.adopt($1::text::jsonb)',
    ),
    fingerprints: () =>
      door<AdoptedRow>(
        `select 1 as n, system_identifier::text, database_oid::text, timeline, environment, endpoint, adopted_by from comanda.installation where $1::text is not null
          union all select 2, f.system_identifier::text, f.database_oid::text, f.timeline, i.environment, i.endpoint, null from comanda.fingerprint() f cross join comanda.installation i order by n`,
      )({}),
    switchSet: door('select scope, mode, version::text from comanda.switch_set($1::text::jsonb)'),
    targetSet: door(
      'select target, breaker, paused_ms::text, rate_per_second, concurrency, set_by from comanda.target_set($1::text::jsonb)',
    ),
  };
}
