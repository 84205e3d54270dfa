import { fromDatabaseError } from '../kernel/database-errors.js';
import { ComandaError, comandaError, ERRORS, type ErrorCode, type ErrorEntry } from '../kernel/errors.js';
import { inSchema } from '../kernel/schema-name.js';
import type { Queryable, Transaction } from '../ports/database.js';
import type { Decided, Decision } from '../ports/intent.js';
import { decisionJson, decisionsJson } from './decision-json.js';

/** Options of {@link decide}. */
export interface DecideOptions {
  /** Name of the schema. Default: `comanda`. */
  readonly schema?: string;
}

/** A decision of {@link decideMany} that was refused. The others stand. */
export interface Refused {
  readonly refused: true;
  readonly key: string | null;
  readonly error: ComandaError;
}

interface Row {
  readonly status: string;
  readonly run_id: string | null;
  readonly created: boolean;
  readonly run_key: string | null;
  readonly run_state: string | null;
  readonly effects_hash: string | null;
  readonly decided_at: string | null;
  readonly problem: string | null;
}

const COLUMNS = 'status, run_id::text, created, run_key, run_state, effects_hash, decided_at::text, problem';

const CODES: Readonly<Record<string, ErrorCode>> = {
  conflict: 'COMANDA_KEY_CONFLICT',
  invalid: 'COMANDA_INVALID_DECISION',
  invalid_payload: 'COMANDA_INVALID_PAYLOAD',
  too_large: 'COMANDA_TOO_LARGE',
  too_many_lanes: 'COMANDA_TOO_MANY_LANES',
  key_taken: 'COMANDA_EXPLICIT_KEY_TAKEN',
};

/**
 * Records a decision and all its effects in the caller's transaction: they commit together with the caller's own writes, or not at all (P1).
 *
 * The same key again is the same decision (`created: false`) and adds nothing. A refusal leaves the transaction usable.
 *
 * @param tx the caller's open transaction, through an adapter, e.g. `pgTransaction(client)`
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION, COMANDA_KEY_CONFLICT (same key, other content), COMANDA_INVALID_DECISION,
 *   COMANDA_INVALID_PAYLOAD (before any SQL, with the path), COMANDA_TOO_LARGE, COMANDA_TOO_MANY_LANES, COMANDA_EXPLICIT_KEY_TAKEN,
 *   COMANDA_RETRYABLE (40001, 40P01, 55P03: run the whole transaction again), COMANDA_SCHEMA_MISSING
 */
export async function decide(tx: Transaction, decision: Decision, options: DecideOptions = {}): Promise<Decided> {
  requireTransaction(tx);
  return await decideOn(tx, decision, options);
}

/**
 * Records a decision in a transaction of its own, for callers that have no state of their own to change with it.
 *
 * @param db a handle that commits each statement, e.g. `pgStandalone(pool)`
 * @throws as {@link decide}
 */
export async function decideStandalone(
  db: Queryable,
  decision: Decision,
  options: DecideOptions = {},
): Promise<Decided> {
  return await decideOn(db, decision, options);
}

/**
 * Records many decisions in one call: one result per input, in order. Equal keys inside the batch are one decision; a refused decision does not harm the others.
 *
 * @throws ComandaError COMANDA_NOT_IN_TRANSACTION, COMANDA_INVALID_PAYLOAD (of any of them, before any SQL), COMANDA_RETRYABLE, COMANDA_SCHEMA_MISSING
 */
export async function decideMany(
  tx: Transaction,
  decisions: readonly Decision[],
  options: DecideOptions = {},
): Promise<readonly (Decided | Refused)[]> {
  requireTransaction(tx);
  const text = decisionsJson(decisions);
  const rows = await run(
    tx,
    inSchema(`select ${COLUMNS} from comanda.decide_many($1::text::jsonb) order by n`, options.schema ?? 'comanda'),
    text,
  );
  return rows.map((row) => {
    const error = refusal(row);
    return error === undefined ? decided(row) : { refused: true, key: row.run_key, error };
  });
}

async function decideOn(db: Queryable, decision: Decision, options: DecideOptions): Promise<Decided> {
  const text = decisionJson(decision);
  const [row] = await run(
    db,
    inSchema(`select ${COLUMNS} from comanda.try_decide($1::text::jsonb)`, options.schema ?? 'comanda'),
    text,
  );
  if (row === undefined) throw new Error('try_decide returned no row: the database handle loses rows');
  const error = refusal(row);
  if (error !== undefined) throw error;
  return decided(row);
}

async function run(db: Queryable, sql: string, json: string): Promise<readonly Row[]> {
  try {
    return await db.query<Row>(sql, [json]);
  } catch (error) {
    throw fromDatabaseError(error);
  }
}

function requireTransaction(tx: Transaction): void {
  // Callers in JavaScript pass pools, clients and nothing at all.
  if (tx?.inTransaction !== true) throw comandaError('COMANDA_NOT_IN_TRANSACTION');
}

function refusal(row: Row): ComandaError | undefined {
  if (row.status === 'decided' || row.status === 'existing') return undefined;
  const code = CODES[row.status] ?? 'COMANDA_INVALID_DECISION';
  const { sqlstate, whatToDo }: ErrorEntry = ERRORS[code];
  return new ComandaError({
    code,
    message: `${row.run_key ?? 'decision'}: ${row.problem ?? row.status}. ${whatToDo}`,
    details: { key: row.run_key, runId: row.run_id, storedHash: row.effects_hash, firstSeenAt: row.decided_at },
    ...(sqlstate === undefined ? {} : { sqlstate }),
  });
}

function decided(row: Row): Decided {
  return {
    runId: row.run_id ?? '',
    created: row.created,
    key: row.run_key ?? '',
    state: row.run_state ?? '',
    effectsHash: row.effects_hash ?? '',
    decidedAt: row.decided_at ?? '',
  };
}
