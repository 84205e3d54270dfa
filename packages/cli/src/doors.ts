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

/** The SQL functions by which people act. Each is one statement and commits by itself. */
export interface Doors {
  cancel(request: {
    readonly key: string;
    readonly name?: string;
    readonly by: string;
    readonly reason: string;
  }): Promise<readonly CancelAnswer[]>;
  request(request: EffectRequest): Promise<readonly RequestAnswer[]>;
  switchSet(change: SwitchChange): Promise<readonly SwitchAnswer[]>;
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
    switchSet: door('select scope, mode, version::text from comanda.switch_set($1::text::jsonb)'),
  };
}
