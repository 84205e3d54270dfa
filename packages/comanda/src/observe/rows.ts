/**
 * Rows of `sql/queries/observe`. Times are ISO 8601 in UTC, ages and distances are milliseconds by the database's clock, identifiers and
 * versions are digits (a JavaScript number could not hold them). These are also the JSON documents of the command line.
 */

/** `observe/status` */
export interface StatusRow {
  readonly now: string;
  readonly database: string;
  readonly server_version: string;
  readonly schema_version: number;
  readonly environment: string;
  /** Why this is not the installation that was adopted, or that only its timeline has changed; `null` when it is. */
  readonly not_adopted: string | null;
  readonly pending: number;
  readonly sending: number;
  readonly waiting: number;
  readonly delayed: number;
  readonly in_window: number;
  readonly held: number;
  readonly unknown: number;
  readonly failed: number;
  /** `null` when there are too many to count. */
  readonly completed: number | null;
  readonly cancelled: number | null;
  readonly completed_last_hour: number;
  readonly pending_oldest_ms: number | null;
  readonly sending_oldest_ms: number | null;
  readonly unknown_oldest_ms: number | null;
  readonly failed_oldest_ms: number | null;
  readonly waiting_next_in_ms: number | null;
  readonly lanes_leased: number;
  readonly lanes_expired: number;
  readonly lanes_due: number;
  readonly lanes_backing_off: number;
  readonly lanes_parked: number;
}

/** `observe/relays` */
export interface RelayRow {
  readonly id: string;
  readonly kinds: readonly string[];
  readonly software_version: string | null;
  readonly schema_version: number | null;
  readonly switch_version: string;
  readonly started_at: string;
  readonly beat_at: string;
  readonly silent_ms: number;
  readonly live: boolean;
}

/** `observe/switches` */
export interface SwitchRow {
  readonly scope: string;
  readonly mode: 'run' | 'hold' | 'drain' | 'stop';
  readonly reason: string | null;
  readonly owner_name: string | null;
  readonly backup_name: string | null;
  readonly set_by: string;
  readonly version: string;
  readonly set_at: string;
  readonly set_ms_ago: number;
}

/** `observe/targets` */
export interface TargetRow {
  readonly target: string;
  readonly breaker: 'closed' | 'open' | 'half_open';
  readonly breaker_reason: string | null;
  readonly open_ms: number | null;
  /** Until the next probe. */
  readonly probe_in_ms: number | null;
  readonly probe_by: string | null;
  /** Of the pause that is left; `null` when there is none. */
  readonly paused_ms: number | null;
  readonly pause_reason: string | null;
  readonly rate_per_second: number | null;
  readonly concurrency: number | null;
  /** Who set the limits by hand; `null`: they are those of the relays' configuration. */
  readonly set_by: string | null;
  readonly shares: readonly { readonly relay: string; readonly slots: number | null; readonly rate: number | null }[];
}

/** `observe/attention` */
export interface AttentionRow {
  readonly what: string;
  readonly effect_id: string | null;
  readonly run_key: string | null;
  readonly kind: string | null;
  readonly target: string | null;
  readonly lane: string | null;
  readonly reason: string | null;
  readonly since: string | null;
  readonly since_ms: number | null;
  readonly what_to_do: string;
}

/** `observe/unattended` */
export interface UnattendedRow {
  readonly what: string;
  readonly effect_id: string | null;
  readonly thing: string;
}

/** What lists and details of effects have in common. */
interface EffectBase {
  readonly effect_id: string;
  readonly run_key: string;
  readonly name: string;
  readonly kind: string;
  readonly target: string;
  readonly state: 'waiting' | 'pending' | 'sending' | 'completed' | 'failed' | 'unknown' | 'cancelled';
  readonly waits_for: 'delayed' | 'held' | 'window' | null;
  readonly subject: string;
  readonly ordering_key: string | null;
  readonly idempotency_key: string;
  readonly attempts: number;
  /** `behind effect <id>`, or the reason for which the lane is parked. */
  readonly blocked_by: string | null;
  readonly relay: string | null;
  readonly provider_id: string | null;
  readonly created_at: string;
  readonly age_ms: number;
  readonly next_at: string | null;
  readonly next_in_ms: number | null;
  readonly ended_at: string | null;
}

/** `observe/effects_list` */
export interface EffectListRow extends EffectBase {}

/** `observe/effects` */
export interface EffectRow extends EffectBase {
  readonly kind_version: number;
  readonly subject_version: string | null;
  readonly approval_id: string | null;
  readonly prerequisite_id: string | null;
  /** Of the published kind; `null` when no relay has published it. */
  readonly max_attempts: number | null;
  readonly idempotency: 'key' | 'natural' | 'none' | null;
  readonly risk: 'reversible' | 'irreversible' | null;
  readonly fence: string | null;
  readonly parked_at: string | null;
  readonly parked_ms: number | null;
  readonly ended_by: string | null;
  readonly ended_reason: string | null;
  readonly payload_bytes: number;
  readonly payload: string;
  readonly headers: string | null;
}

/** `observe/attempts` */
export interface AttemptRow {
  readonly effect_id: string;
  readonly fence: string;
  readonly phase: 'start' | 'end' | 'late' | 'look';
  readonly attempt: number;
  readonly owner: string | null;
  readonly outcome:
    | 'completed'
    | 'retry'
    | 'failed'
    | 'unknown'
    | 'cancelled'
    | 'applied'
    | 'absent'
    | 'cannot_tell'
    | null;
  readonly provider_id: string | null;
  readonly status: number | null;
  readonly error_class: string | null;
  readonly error_text: string | null;
  readonly duration_ms: number | null;
  readonly at: string;
  readonly ms_ago: number;
}

/** `observe/outcomes` */
export interface OutcomeRow {
  readonly effect_id: string;
  readonly fence: string;
  readonly state: 'completed' | 'failed' | 'cancelled';
  readonly settled_by: string;
  readonly reason: string | null;
  readonly attempts: number;
  readonly provider_id: string | null;
  readonly maybe_applied: boolean;
  readonly settled_at: string;
}

/** `observe/requests` */
export interface RequestRow {
  readonly request_id: string;
  readonly effect_id: string;
  readonly action: 'cancel' | 'skip' | 'release' | 'redrive' | 'resolve';
  readonly resolve_as: string | null;
  readonly provider_id: string | null;
  readonly requested_by: string | null;
  readonly reason: string | null;
  readonly answer: string | null;
  readonly requested_at: string;
  readonly answered_at: string | null;
}

/** `observe/story_run` */
export interface RunRow {
  readonly run_id: string;
  readonly key: string;
  readonly subject: string;
  readonly kind: string | null;
  readonly actor_type: 'human' | 'agent' | 'system' | null;
  readonly actor_id: string | null;
  /** The chain as JSON text. */
  readonly on_behalf_of: string | null;
  readonly by_agent: boolean;
  readonly tenant: string | null;
  readonly reason: string | null;
  readonly trigger_origin: string | null;
  readonly workflow_version: string | null;
  readonly endpoint_class: string | null;
  readonly model: string | null;
  readonly model_revision: string | null;
  readonly validation: string | null;
  readonly repairs: number | null;
  readonly state: string;
  readonly effects: number;
  readonly open_effects: number;
  readonly attempts: number;
  readonly failure_class: string | null;
  readonly lease_owner: string | null;
  readonly supersedes_key: string | null;
  readonly superseded_by_key: string | null;
  readonly decided_at: string;
  readonly decided_ms_ago: number;
  readonly now: string;
  readonly effect_ids: readonly string[];
}
