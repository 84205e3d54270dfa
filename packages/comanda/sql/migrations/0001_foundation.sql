--! online
-- The whole data model. Every table and column carries its question as a COMMENT (views/90_comments.sql).
-- Text that is compared or indexed as a key is COLLATE "C": order does not change with the operating system's collations.

-- Sequences. CACHE must stay 1: a cached block would hand out positions and fences out of order.
create sequence comanda.effect_id as bigint cache 1;
create sequence comanda.fence as bigint cache 1;
create sequence comanda.lane_position as bigint cache 1;
create sequence comanda.switch_version as bigint cache 1;
-- `awake`: epoch milliseconds until which some relay polls anyway, so that a decision need not notify. A sequence, because its last_value is seen at once by every snapshot.
create sequence comanda.awake as bigint cache 1;

create table comanda.installation (
  singleton boolean primary key default true check (singleton),
  schema_version int not null,
  compatible_from int not null,
  routines_sha256 text not null default '',
  environment text not null default 'unset',
  system_identifier bigint,
  database_oid oid,
  timeline int,
  endpoint text,
  adopted_by text,
  adopted_at timestamptz,
  payload_max_bytes int not null default 1048576 check (payload_max_bytes between 1024 and 67108864),
  installed_at timestamptz not null default clock_timestamp(),
  migrated_at timestamptz not null default clock_timestamp()
);

create table comanda.run (
  id bigint generated always as identity primary key,
  key text collate "C" not null unique,
  subject text collate "C" not null default '',
  kind text collate "C",
  actor_type text,
  actor_id text,
  on_behalf_of jsonb,
  by_agent boolean not null default false,
  tenant text collate "C",
  reason text,
  trigger_origin text,
  workflow_version text,
  endpoint_class text,
  model text,
  model_revision text,
  validation text,
  repairs int,
  output text,
  input_hash bytea,
  effects_hash bytea,
  state text not null,
  version bigint not null default 0,
  lease_owner text,
  lease_expires_at timestamptz,
  fence bigint,
  result text,
  failure_class text,
  attempts int not null default 0,
  next_at timestamptz,
  supersedes bigint,
  superseded_by bigint,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
);
-- All CHECKs of the table in one function: PostgreSQL parses and plans the text of every CHECK again for each INSERT, which was two thirds of the cost of a
-- decision; a function is planned once per session, and what a plain decision leaves empty is behind IFs. Like a CHECK, it passes unless something is false.
create function comanda.run_fits(r comanda.run) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $fn$
begin
  if num_nonnulls(r.kind, r.tenant, r.reason, r.trigger_origin, r.workflow_version, r.endpoint_class, r.model, r.model_revision, r.validation, r.repairs, r.output) > 0 then
    if (octet_length(r.kind) <= 128 and octet_length(r.tenant) <= 256 and octet_length(r.reason) <= 4096 and octet_length(r.trigger_origin) <= 512
        and octet_length(r.workflow_version) <= 256 and octet_length(r.endpoint_class) <= 256 and octet_length(r.model) <= 256
        and octet_length(r.model_revision) <= 256 and octet_length(r.validation) <= 4096 and r.repairs >= 0 and octet_length(r.output) <= 65536) is false then
      return false;
    end if;
  end if;
  if r.state <> 'decided' or num_nonnulls(r.lease_owner, r.lease_expires_at, r.next_at, r.finished_at, r.supersedes, r.result, r.failure_class) > 0 then
    if (r.state in ('processing', 'decided', 'awaiting_human', 'denied', 'approved', 'rejected', 'expired', 'cancelled', 'completed', 'failed_retryable',
          'failed_terminal')
        -- JSON: the view run_ledger casts it, and one row that is not would break the view for all.
        and (r.result is null or octet_length(r.result) <= 65536 and r.result::jsonb is not null) and octet_length(r.failure_class) <= 128
        and (r.state = 'processing') = (r.lease_owner is not null)
        and (r.lease_owner is null) = (r.lease_expires_at is null)
        and (r.state = 'failed_retryable') = (r.next_at is not null)
        and (r.finished_at is null or r.state in ('denied', 'rejected', 'expired', 'cancelled', 'completed', 'failed_terminal'))
        and (r.supersedes is null or r.supersedes <> r.id)) is false then
      return false;
    end if;
  end if;
  return octet_length(r.key) between 1 and 512 and octet_length(r.subject) <= 512 and r.actor_type in ('human', 'agent', 'system') and octet_length(r.actor_id) <= 512;
end
$fn$;
alter table comanda.run add constraint run_fits check (comanda.run_fits(run));
create index run_subject on comanda.run (subject) where subject <> '';
create index run_next on comanda.run (next_at) where next_at is not null;
create index run_lease on comanda.run (lease_expires_at) where lease_owner is not null;

-- The outbox: intents. Insert-only, so no row here is ever dead for vacuum.
create table comanda.effect (
  id bigint primary key default nextval('comanda.effect_id'::regclass),
  run_id bigint not null,
  name text collate "C" not null,
  kind text collate "C" not null,
  kind_version int not null default 1,
  target text collate "C" not null,
  payload text not null,
  headers text,
  explicit_key text collate "C",
  ordering_key text collate "C",
  subject_version bigint,
  waits text,
  created_at timestamptz not null default clock_timestamp(),
  unique (run_id, name)
);
-- As run_fits.
create function comanda.effect_fits(e comanda.effect) returns boolean
language plpgsql immutable set search_path = pg_catalog, pg_temp as $fn$
begin
  if num_nonnulls(e.headers, e.explicit_key, e.ordering_key, e.waits) > 0 then
    if (octet_length(e.headers) <= 16384 and octet_length(e.explicit_key) between 1 and 512 and strpos(e.explicit_key, '/') = 0
        and octet_length(e.ordering_key) between 1 and 512 and e.waits in ('delayed', 'held', 'window')) is false then
      return false;
    end if;
  end if;
  return octet_length(e.name) between 1 and 128 and strpos(e.name, '/') = 0 and octet_length(e.kind) between 1 and 128 and octet_length(e.target) between 1 and 128
    and octet_length(e.payload) <= 67108864;
end
$fn$;
alter table comanda.effect add constraint effect_fits check (comanda.effect_fits(effect));

-- Uniqueness of explicit idempotency keys. Apart, so that `effect` can be partitioned later: a partitioned table cannot enforce it.
create table comanda.effect_key (
  key text collate "C" primary key,
  effect_id bigint not null
);

create table comanda.waiting (
  effect_id bigint primary key,
  reason text not null check (reason in ('delayed', 'held', 'window')),
  approval_id bigint,
  prerequisite_id bigint,
  next_at timestamptz not null check (next_at < 'infinity'),
  lane text collate "C" not null check (octet_length(lane) <= 514),
  kind text collate "C" not null,
  target text collate "C" not null,
  check ((reason = 'held') = (approval_id is not null or prerequisite_id is not null))
);
create index waiting_next on comanda.waiting (next_at);

-- Hot tables: proportional to what is unfinished. Vacuumed by count, not by share, and without cost delay.
create table comanda.effect_arrival (
  id bigint primary key,
  effect_id bigint not null,
  lane text collate "C" not null check (octet_length(lane) <= 514),
  kind text collate "C" not null,
  target text collate "C" not null,
  arrived_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

create table comanda.effect_queue (
  lane text collate "C" not null,
  pos bigint not null,
  effect_id bigint not null,
  kind text collate "C" not null,
  target text collate "C" not null,
  primary key (lane, pos)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

create table comanda.lane (
  lane text collate "C" primary key check (octet_length(lane) <= 514),
  kind text collate "C" not null,
  target text collate "C" not null,
  ready_at timestamptz not null,
  fence bigint not null,
  owner text,
  attempt int not null default 0,
  inflight_to bigint,
  suspect_to bigint,
  cleared_to bigint,
  first_at timestamptz,
  trouble text check (trouble in ('unknown', 'failed')),
  looks int not null default 0,
  lost int not null default 0,
  parked_by text check (octet_length(parked_by) <= 1024),
  parked_at timestamptz,
  check ((parked_by is not null) = (ready_at = 'infinity')),
  check ((parked_by is null) = (parked_at is null)),
  check (parked_by is null or owner is null),
  check (owner is null or inflight_to is not null)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);
create index lane_due on comanda.lane (kind, ready_at);
create index lane_parked on comanda.lane (parked_by) where parked_by is not null;

create table comanda.effect_request (
  id bigint generated always as identity primary key,
  effect_id bigint not null,
  action text collate "C" not null check (action in ('cancel', 'skip', 'release', 'redrive', 'resolve')),
  argument jsonb,
  requested_by text check (octet_length(requested_by) <= 512),
  reason text check (octet_length(reason) <= 4096),
  requested_at timestamptz not null default clock_timestamp(),
  answered_at timestamptz,
  answer text,
  check ((answered_at is null) = (answer is null))
);
create unique index effect_request_open on comanda.effect_request (effect_id, action) where answered_at is null;

-- Every try. Partitioned by month; the default partition only catches what no month covers, so that settling never fails for want of one.
create table comanda.attempt (
  effect_id bigint not null,
  fence bigint not null,
  phase text collate "C" not null check (phase in ('start', 'end', 'late', 'look')),
  at timestamptz not null default clock_timestamp(),
  attempt int not null,
  owner text,
  outcome text check (outcome in ('completed', 'retry', 'failed', 'unknown', 'cancelled', 'applied', 'absent', 'cannot_tell')),
  provider_id text check (octet_length(provider_id) <= 1024),
  status int,
  error_class text check (octet_length(error_class) <= 256),
  error_text text check (octet_length(error_text) <= 65536),
  response text check (octet_length(response) <= 65536),
  duration_ms int,
  primary key (effect_id, fence, phase, at),
  check ((phase = 'start') = (outcome is null))
) partition by range (at);
create table comanda.attempt_default partition of comanda.attempt default;

create table comanda.outcome (
  effect_id bigint not null,
  fence bigint not null,
  state text not null check (state in ('completed', 'failed', 'cancelled')),
  settled_by text not null check (octet_length(settled_by) <= 512),
  reason text check (octet_length(reason) <= 4096),
  attempts int not null,
  provider_id text check (octet_length(provider_id) <= 1024),
  maybe_applied boolean not null default false,
  settled_at timestamptz not null default clock_timestamp(),
  primary key (effect_id, fence)
);
create index outcome_settled on comanda.outcome using brin (settled_at);
create index outcome_failed on comanda.outcome (effect_id) where state = 'failed';

create table comanda.effect_kind (
  kind text collate "C" not null check (octet_length(kind) between 1 and 128),
  version int not null check (version >= 1),
  target text collate "C" not null check (octet_length(target) between 1 and 128),
  risk text not null check (risk in ('reversible', 'irreversible')),
  idempotency text not null check (idempotency in ('key', 'natural', 'none')),
  on_unknown text not null check (on_unknown in ('reconcile', 'ask-human')),
  contract jsonb not null default '{}',
  amount_pointer text,
  redaction text[] not null default '{}',
  input_schema jsonb,
  max_attempts int not null,
  timeout_ms bigint not null,
  published_by text,
  published_at timestamptz not null default clock_timestamp(),
  primary key (kind, version)
);

create table comanda.policy (
  name text collate "C" not null,
  version int not null check (version >= 1),
  rules jsonb not null,
  published_by text,
  published_at timestamptz not null default clock_timestamp(),
  primary key (name, version)
);

create table comanda.target (
  target text collate "C" primary key check (octet_length(target) between 1 and 128),
  breaker text not null default 'closed' check (breaker in ('closed', 'open', 'half_open')),
  breaker_reason text,
  breaker_until timestamptz,
  paused_until timestamptz,
  pause_reason text,
  rate_per_second numeric check (rate_per_second > 0),
  concurrency int check (concurrency > 0),
  shares jsonb not null default '[]',
  updated_at timestamptz not null default clock_timestamp()
);

create table comanda.aggregate (
  aggregate_type text collate "C" not null check (octet_length(aggregate_type) <= 256),
  aggregate_id text collate "C" not null check (octet_length(aggregate_id) <= 512),
  version bigint not null check (version >= 1),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (aggregate_type, aggregate_id)
);

create table comanda.event (
  id uuid not null,
  position bigint,
  run_id bigint,
  aggregatetype text collate "C" not null,
  aggregateid text collate "C" not null,
  version bigint not null,
  type text collate "C" not null,
  schema_version int not null default 1,
  payload text not null,
  headers text,
  created_at timestamptz not null default clock_timestamp(),
  primary key (id, created_at)
) partition by range (created_at);
create table comanda.event_default partition of comanda.event default;

create table comanda.event_arrival (
  id bigint primary key,
  event_id uuid not null,
  event_created_at timestamptz not null,
  aggregate text collate "C" not null check (octet_length(aggregate) <= 1024)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0);

create table comanda.feed (
  singleton boolean primary key default true check (singleton),
  position bigint not null default 0
);
insert into comanda.feed default values;

create table comanda.approval (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  effects_hash bytea not null,
  mode text not null check (mode in ('approve_before_act', 'cancel_window', 'by_exception')),
  policy_name text,
  policy_version int,
  requester text not null,
  audience text,
  quorum int not null default 1 check (quorum >= 1),
  state text not null default 'open' check (state in ('open', 'approved', 'rejected', 'expired', 'cancelled')),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null check (expires_at > created_at and expires_at <= created_at + interval '30 days'),
  decided_at timestamptz,
  check ((state = 'open') = (decided_at is null))
);
create unique index approval_live on comanda.approval (run_id) where state = 'open';

create table comanda.approval_vote (
  approval_id bigint not null,
  voter text collate "C" not null check (octet_length(voter) <= 512),
  decision text not null check (decision in ('approve', 'reject')),
  assurance text not null,
  comment text,
  voted_at timestamptz not null default clock_timestamp(),
  primary key (approval_id, voter)
);

create table comanda.approval_token (
  token_sha256 bytea primary key check (octet_length(token_sha256) = 32),
  approval_id bigint not null,
  audience text,
  allowed text[] not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null check (expires_at > created_at and expires_at <= created_at + interval '30 days'),
  consumed_at timestamptz,
  consumed_by text,
  decision text,
  check ((consumed_at is null) = (consumed_by is null))
);

create table comanda.switch (
  scope text collate "C" primary key check (octet_length(scope) <= 600 and (scope = 'all' or scope ~ '^(actor|agent|kind|target|tenant):.+$')),
  mode text not null check (mode in ('run', 'hold', 'drain', 'stop')),
  reason text,
  owner_name text,
  backup_name text,
  set_by text not null,
  set_at timestamptz not null default clock_timestamp(),
  version bigint not null default nextval('comanda.switch_version'::regclass)
);
insert into comanda.switch (scope, mode, reason, set_by) values ('all', 'run', 'installed', 'migrate');

create table comanda.inbox (
  consumer text collate "C" not null,
  key text collate "C" not null check (octet_length(key) <= 512),
  received_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  primary key (consumer, key)
);
create index inbox_expires on comanda.inbox (expires_at) where expires_at is not null;

create table comanda.checkpoint (
  consumer text collate "C" not null,
  partition int not null default 0,
  position bigint not null,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (consumer, partition)
);

create table comanda.projection (
  name text collate "C" not null,
  version int not null,
  state text not null check (state in ('building', 'live', 'retired', 'failed')),
  snapshot_position bigint,
  started_at timestamptz not null default clock_timestamp(),
  live_at timestamptz,
  retired_at timestamptz,
  detail jsonb,
  primary key (name, version)
);

create table comanda.gap (
  consumer text collate "C" not null,
  aggregate text collate "C" not null,
  expected_version bigint not null,
  seen_version bigint not null,
  found_at timestamptz not null default clock_timestamp(),
  filled_at timestamptz,
  primary key (consumer, aggregate, expected_version)
);

create table comanda.audit (
  id bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  actor text not null,
  act text not null,
  subject text not null,
  reason text,
  detail jsonb not null default '{}',
  chain_position bigint,
  previous_hash bytea,
  hash bytea,
  primary key (id, at)
) partition by range (at);
create table comanda.audit_default partition of comanda.audit default;

create table comanda.relay (
  id text collate "C" primary key check (octet_length(id) <= 256),
  kinds text[] not null default '{}',
  software_version text,
  schema_version int,
  switch_version bigint not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  beat_at timestamptz not null default clock_timestamp(),
  stopped_at timestamptz
);
