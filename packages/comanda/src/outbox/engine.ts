import { inSchema } from '../kernel/schema-name.js';
import type { Queryable } from '../ports/database.js';
import type { Evidence } from '../ports/outcome.js';

/**
 * The relay's side of the outbox: one method per SQL function, typed. Everything that decides anything happens in SQL, by the database's clock;
 * relays in other languages call the same functions.
 */
export interface Engine {
  route(request: RouteRequest): Promise<readonly ClaimedRow[]>;
  claim(request: ClaimRequest): Promise<readonly ClaimedRow[]>;
  payloads(request: {
    readonly effects: readonly string[];
    readonly suspects: readonly string[];
    /** What is behind the head of a lane comes only while all together have no more bytes. */
    readonly laneBytes: number;
  }): Promise<readonly PayloadRow[]>;
  maySend(request: {
    readonly relay: string;
    readonly floor: Floor;
    readonly items: readonly SendItem[];
  }): Promise<readonly SendAnswer[]>;
  settle(request: {
    readonly relay: string;
    readonly leaseMs: number;
    readonly lanes: readonly SettleLane[];
  }): Promise<readonly LaneResult[]>;
  renew(request: {
    readonly relay: string;
    readonly leaseMs: number;
    readonly lanes: readonly LaneRef[];
  }): Promise<readonly LaneResult[]>;
  lateEvidence(request: {
    readonly relay: string;
    readonly items: readonly (AttemptRecord & { readonly fence: string })[];
  }): Promise<void>;
  sweep(request: { readonly relay: string }): Promise<SweepResult>;
  beat(request: BeatRequest): Promise<Beat>;
  /** What was learned about a target, for all relays. */
  targetReport(request: Readonly<Record<string, unknown>>): Promise<void>;
  /** Asks for the one probe of a target whose breaker is open. */
  targetProbe(request: {
    readonly relay: string;
    readonly target: string;
    readonly leaseMs: number;
  }): Promise<{ readonly granted: boolean; readonly wait_ms: string }>;
  /** Asks for this relay's share of its targets' limits, and which of them are closed. */
  targetsBeat(request: {
    readonly relay: string;
    readonly stopping: boolean;
    readonly targets: readonly TargetAsk[];
  }): Promise<readonly TargetBeatRow[]>;
  publishKinds(request: { readonly by: string; readonly kinds: readonly Record<string, unknown>[] }): Promise<void>;
  /** Says until when this relay polls anyway, so that decisions need not notify. 0 = it sleeps: notify. */
  awake(forMs: number | 'always'): Promise<void>;
  /** The channel on which decisions of this installation notify. */
  channel(): Promise<string>;
}

/** What AI_ACTIONS_ENABLED forbids, whatever the switch says. */
export type Floor = 'none' | 'agents' | 'agents_and_undeclared';

export interface KindRequest {
  readonly kind: string;
  readonly lanes: number;
  readonly batch: number;
}

export interface ClaimRequest {
  readonly relay: string;
  readonly leaseMs: number;
  readonly kinds: readonly KindRequest[];
}

export interface RouteRequest extends ClaimRequest {
  /** Arrivals moved at most. */
  readonly batch: number;
}

/** One claimed effect. `lane` is null on the row of a route that moved work but leased none. */
export interface ClaimedRow {
  readonly lane: string | null;
  readonly fence: string;
  /** Null when the lane had no effect: the lane is released. */
  readonly pos: string | null;
  readonly effect_id: string;
  readonly kind: string;
  readonly target: string;
  readonly attempt: number;
  readonly suspect: boolean;
  readonly cancel: boolean;
  readonly lost: number;
  readonly looks: number;
  readonly trouble: 'unknown' | 'failed' | null;
  readonly routed: number;
}

export interface PayloadRow {
  readonly effect_id: string;
  readonly payload: string;
  readonly idempotency_key: string;
  readonly run_key: string;
  readonly subject: string;
  readonly name: string;
  readonly kind_version: number;
  readonly headers: string | null;
  readonly subject_version: string | null;
  /** Age of the youngest unresolved start row, for suspects only. */
  readonly started_ms_ago: string | null;
  /** `completed` when a late answer said so, for suspects only. */
  readonly evidence: string | null;
  readonly evidence_provider_id: string | null;
}

export interface LaneRef {
  readonly lane: string;
  readonly fence: string;
}

export interface SendItem extends LaneRef {
  readonly effect: string;
  readonly attempt: number;
  readonly suspect: boolean;
  readonly lost: number;
  /** Writes the start row in the same statement: non-idempotent kinds. */
  readonly mark: boolean;
  /** Lease that must be left, in milliseconds. */
  readonly needMs: number;
  /** How long after the head's first claim its key is trusted, in milliseconds. Absent: for ever. */
  readonly windowMs?: number;
  /** Cancels it when a newer version of its subject was decided since. */
  readonly skipStale?: boolean;
  /** Cancels it when it is older, in milliseconds. */
  readonly maxAgeMs?: number;
}

export interface SendAnswer extends LaneRef {
  readonly effect_id: string;
  /** `go | go:none | forgotten | lost | short | cancel | stale | expired | applied | busy | off:<scope> | wait:<ms>` */
  readonly answer: string;
}

/** What an attempt leaves behind. */
export interface AttemptRecord extends Evidence {
  readonly effect: string;
  readonly attempt: number;
  readonly outcome?: 'completed' | 'retry' | 'failed' | 'unknown' | 'cancelled' | 'applied' | 'absent' | 'cannot_tell';
  readonly ms?: number;
}

export interface EndedRecord extends AttemptRecord {
  readonly pos: string;
  readonly state: 'completed' | 'failed' | 'cancelled';
  readonly reason?: string;
  readonly maybe?: boolean;
}

export interface SettleLane extends LaneRef {
  readonly mode: 'keep' | 'next' | 'retry' | 'unsure' | 'unknown' | 'absent' | 'block';
  readonly delayMs?: number;
  readonly reason?: string;
  readonly trouble?: 'unknown' | 'failed';
  readonly giveBack?: boolean;
  readonly keepLost?: boolean;
  /** With `keepLost`: so many at most. */
  readonly lost?: number;
  readonly looked?: boolean;
  readonly headFailed?: boolean;
  /** With `headFailed`: an earlier attempt may have been applied. */
  readonly maybe?: boolean;
  readonly head?: AttemptRecord;
  readonly ended?: readonly EndedRecord[];
}

export interface LaneResult extends LaneRef {
  readonly result: 'ok' | 'busy' | 'fenced' | 'lost';
}

export interface SweepResult {
  readonly moved: number;
  readonly unparked: number;
  readonly answered: number;
  readonly ran: boolean;
  /** Parts that failed, with their errors; the others are done. Null: none. */
  readonly failed: string | null;
}

export interface BeatRequest {
  readonly relay: string;
  readonly kinds: readonly string[];
  readonly softwareVersion: string;
  readonly schemaVersion: number;
  readonly switchVersion: string;
  readonly stopping: boolean;
}

export interface Beat {
  readonly switch_version: string | null;
  readonly all_mode: string | null;
  readonly stopped: readonly string[];
  readonly schema_version: number;
  readonly compatible_from: number;
  readonly statement_timeout: string;
  /** Why nothing, or nothing without a key, may leave: not the adopted installation. Null: it is. */
  readonly holds: string | null;
}

export interface TargetAsk {
  readonly target: string;
  readonly kinds: readonly string[];
  readonly ratePerSecond?: number;
  readonly concurrency?: number;
  /** Lanes of it that this relay works on. */
  readonly held: number;
  /** What this relay may be using at this moment. */
  readonly slots: number;
}

export interface TargetBeatRow {
  readonly target: string;
  readonly wait_ms: string;
  readonly breaker: 'closed' | 'open' | 'half_open';
  readonly probe_by: string | null;
  /** Null: no such limit. */
  readonly slots: number | null;
  readonly rate: number | null;
  /** Null: no limit at all; 0: the share could not be renewed. */
  readonly share_ms: number | null;
}

const CLAIMED =
  'lane, fence::text, pos::text, effect_id::text, kind, target, attempt, suspect, cancel, lost, looks, trouble';

/** What a relay believes to work for; compared with the installation that was adopted, in SQL, at each act. */
export interface Place {
  readonly environment?: string;
  readonly endpoint?: string;
}

/** Binds the functions to a pool, a schema, and the place that the relay was configured for. */
export function createEngine(db: Queryable, schema: string, place: Place = {}): Engine {
  const call = <Row>(sql: string) => {
    const text = inSchema(sql, schema);
    return (request: unknown): Promise<readonly Row[]> => db.query<Row>(text, [JSON.stringify(request)]);
  };
  const placed = <Row>(sql: string) => {
    const run = call<Row>(sql);
    return (request: object): Promise<readonly Row[]> => run({ ...place, ...request });
  };
  const route = placed<ClaimedRow>(`select ${CLAIMED}, routed from comanda.route($1::text::jsonb)`);
  const claim = placed<ClaimedRow>(`select ${CLAIMED}, 0 as routed from comanda.claim($1::text::jsonb)`);
  const payloads = call<PayloadRow>(
    `select effect_id::text, payload, idempotency_key, run_key, subject, name, kind_version, headers, subject_version, started_ms_ago::text, evidence, evidence_provider_id
       from comanda.payloads($1::text::jsonb)`,
  );
  const maySend = placed<SendAnswer>(
    'select lane, fence::text, effect_id::text, answer from comanda.may_send($1::text::jsonb)',
  );
  const settle = call<LaneResult>('select lane, fence::text, result from comanda.settle($1::text::jsonb)');
  const renew = call<LaneResult>('select lane, fence::text, result from comanda.renew($1::text::jsonb)');
  const late = call<unknown>('select effect_id::text, kept from comanda.late_evidence($1::text::jsonb)');
  const sweep = call<SweepResult>('select moved, unparked, answered, ran, failed from comanda.sweep($1::text::jsonb)');
  const beat = placed<Beat>(
    'select switch_version::text, all_mode, stopped, schema_version, compatible_from, statement_timeout, holds from comanda.relay_beat($1::text::jsonb)',
  );
  const targetReport = call<unknown>('select target from comanda.target_report($1::text::jsonb)');
  const targetProbe = call<{ granted: boolean; wait_ms: string }>(
    'select granted, wait_ms::text from comanda.target_probe($1::text::jsonb)',
  );
  const targetsBeat = call<TargetBeatRow>(
    'select target, wait_ms::text, breaker, probe_by, slots, rate, share_ms from comanda.targets_beat($1::text::jsonb)',
  );
  const publish = call<unknown>('select kind from comanda.publish_kinds($1::text::jsonb)');
  const awake = inSchema('select comanda.set_awake($1::float8)', schema);
  const channel = inSchema(`select comanda.wake_channel() as channel`, schema);
  return {
    route,
    claim,
    payloads,
    maySend,
    settle,
    renew,
    lateEvidence: async (request) => void (await late(request)),
    sweep: async (request) => first(await sweep(request), 'sweep'),
    beat: async (request) => first(await beat(request), 'relay_beat'),
    targetReport: async (request) => void (await targetReport(request)),
    targetProbe: async (request) => first(await targetProbe(request), 'target_probe'),
    targetsBeat,
    publishKinds: async (request) => void (await publish(request)),
    awake: async (forMs) => void (await db.query(awake, [forMs === 'always' ? -1 : forMs])),
    channel: async () => first(await db.query<{ channel: string }>(channel, []), 'wake_channel').channel,
  };
}

function first<Row>(rows: readonly Row[], name: string): Row {
  const [row] = rows;
  if (row === undefined) throw new Error(`${name} returned no row`);
  return row;
}
