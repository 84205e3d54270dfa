-- An installation as the released schema 1 made it: its migration, functions, views and rights. A fixture: never changed.
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

-- What of an effect is hashed: its content as stored. Not the target (routing), not headers (trace), not when it is due.
create or replace function comanda.effect_content(name text, kind text, kind_version int, payload text, explicit_key text, ordering_key text, subject_version bigint)
returns text language sql stable
return jsonb_build_array(name, kind, kind_version, explicit_key, ordering_key, subject_version)::text || ' ' || payload;

-- Tells the sleeping relays that there is work, when this transaction commits. Commits that notify wait for each other, so a crowd of decisions sends one
-- notification each 20 ms: whoever notifies says for the others that somebody is about to look. It is a hint; polling is the truth.
create or replace function comanda.wake() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $fn$
begin
  perform pg_notify('comanda_' || 'comanda.effect_arrival'::regclass::oid::bigint, ''), setval('comanda.awake'::regclass, (extract(epoch from clock_timestamp()) * 1000)::bigint + 20);
end
$fn$;

-- Draws the lane position of a keyed effect at COMMIT (DESIGN 5, "order by construction"). Deferred, so that position order is commit order
-- whatever order callers lock in: the lane's advisory lock is held until the transaction is visible.
create or replace function comanda.place() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $fn$
declare
  seed bigint := 'comanda.effect_arrival'::regclass::oid::bigint;
  setting text := 'comanda.lanes_' || seed;
  hashes text := current_setting(setting, true);
  unbounded boolean := current_setting('lock_timeout') = '0';
begin
  -- statement_timeout does not run during COMMIT; without a lock_timeout a producer would wait here without end. 55P03 = nothing written, retryable.
  if unbounded then
    perform set_config('lock_timeout', '5s', true);
  end if;
  if hashes <> '' then
    -- First firing: the locks of all lanes of this transaction in one order, so that mirrored transactions cannot deadlock. One lane needs no order.
    if strpos(hashes, ' ') > 0 then
      perform pg_advisory_xact_lock(x.h)
        from (select distinct u::bigint as h from unnest(string_to_array(hashes, ' ')) u order by 1) x;
    end if;
    setting := set_config(setting, '', true);
    if coalesce(pg_sequence_last_value('comanda.awake'::regclass), 0) < extract(epoch from clock_timestamp()) * 1000 then
      perform comanda.wake();
    end if;
  end if;
  perform pg_advisory_xact_lock(hashtextextended(new.ordering_key, seed));
  insert into comanda.effect_arrival (id, effect_id, lane, kind, target)
    values (nextval('comanda.lane_position'::regclass), new.id, 'k:' || new.ordering_key, new.kind, new.target);
  if unbounded then
    -- After SET CONSTRAINTS IMMEDIATE the transaction goes on: its later statements wait as its owner wants.
    setting := set_config('lock_timeout', '0', true);
  end if;
  return null;
end
$fn$;

do $do$ begin
  if not exists (select from pg_trigger where tgrelid = 'comanda.effect'::regclass and tgname = 'place') then
    create constraint trigger place after insert on comanda.effect deferrable initially deferred
      for each row when (new.ordering_key is not null and new.waits is null) execute function comanda.place();
  end if;
end $do$;

-- The first thing that is wrong with the shape of a decision, or null. Shape only: limits of size are in try_decide.
-- A JSON null is a member that is not there (expressions in n8n give nulls), except as a payload, where it is a value.
-- Few, large expressions, and rare ones behind an IF, on purpose: each is set up anew in each transaction, and every decision pays for it.
create or replace function comanda.invalid_decision(decision jsonb) returns text
language plpgsql set search_path = pg_catalog, pg_temp as $fn$
declare
  effects jsonb := decision -> 'effects';
  actor jsonb := decision -> 'actor';
  wrong text;
  member record;
  most int;
  e jsonb;
begin
  wrong := case
    when jsonb_typeof(decision) is distinct from 'object' then 'a decision is a JSON object'
    when jsonb_typeof(decision -> 'key') is distinct from 'string' or decision ->> 'key' = '' then '"key" must be a non-empty string'
    when octet_length(decision ->> 'key') > 512 then format('"key" has %s bytes; the limit is 512 bytes of UTF-8', octet_length(decision ->> 'key'))
    when coalesce(jsonb_typeof(decision -> 'subject'), 'null') not in ('string', 'null') then '"subject" must be a string'
    when octet_length(decision ->> 'subject') > 512 then format('"subject" has %s bytes; the limit is 512', octet_length(decision ->> 'subject'))
    when jsonb_typeof(effects) is distinct from 'array' then '"effects" must be an array (an empty one records a decision without effects)'
    when jsonb_array_length(effects) > 10000 then format('%s effects in one decision; the limit is 10000', jsonb_array_length(effects))
  end;
  if wrong is not null then
    return wrong;
  end if;
  if decision - '{key,subject,effects,actor}'::text[] <> '{}' then
    for member in select m.key, m.value, m.value #>> '{}' as text from jsonb_each(decision - '{key,subject,effects,actor}'::text[]) m loop
      most := case member.key when 'kind' then 128 when 'tenant' then 256 when 'reason' then 4096 when 'trigger' then 512
        when 'workflowVersion' then 256 when 'endpointClass' then 256 when 'model' then 256 when 'modelRevision' then 256 when 'validation' then 4096
        when 'output' then 65536 when 'repairs' then 0 when 'headers' then 16384 end;
      if most is null then
        return format('unknown member "%s"', member.key);
      elsif member.text is null then
        null;
      elsif member.key = 'repairs' then
        if jsonb_typeof(member.value) <> 'number' or member.text !~ '^([0-9]{1,3}|1000)$' then
          return '"repairs" must be an integer from 0 to 1000';
        end if;
      elsif member.key = 'headers' then
        if jsonb_typeof(member.value) <> 'object' or jsonb_path_exists(member.value, 'strict $.* ? (@.type() != "string")') or octet_length(member.text) > most then
          return '"headers" must be an object of strings of at most 16384 bytes in all';
        end if;
      elsif jsonb_typeof(member.value) <> 'string' then
        return format('"%s" must be a string', member.key);
      elsif octet_length(member.text) > most then
        return format('"%s" has %s bytes; the limit is %s', member.key, octet_length(member.text), most);
      end if;
    end loop;
  end if;
  -- An unknown member of an actor is refused too: `on_behalf_of` in the place of `onBehalfOf` would hide an agent from its switch.
  while jsonb_typeof(actor) <> 'null' loop
    if jsonb_typeof(actor) <> 'object' or actor - '{type,id,onBehalfOf}'::text[] <> '{}' or coalesce(actor ->> 'type', '') not in ('human', 'agent', 'system')
        or jsonb_typeof(actor -> 'id') is distinct from 'string' or octet_length(actor ->> 'id') not between 1 and 512 or pg_column_size(actor) > 16384 then
      return '"actor" must be {"type": "human" | "agent" | "system", "id": "…", "onBehalfOf"?: actor}, at most 16384 bytes in all';
    end if;
    actor := actor -> 'onBehalfOf';
  end loop;
  for i in 0 .. jsonb_array_length(effects) - 1 loop
    e := effects -> i;
    wrong := case
      when jsonb_typeof(e) <> 'object' then 'must be an object'
      when jsonb_typeof(e -> 'kind') is distinct from 'string' or octet_length(e ->> 'kind') not between 1 and 128 then '"kind" must be a string of 1 to 128 bytes'
      when e - '{kind,payload}'::text[] <> '{}' then 'more'
      when strpos(e ->> 'kind', '/') > 0 then 'a kind with "/" needs a "name" without it'
    end;
    if wrong = 'more' then
      wrong := case
        when e - '{name,kind,version,target,payload,key,orderingKey,subjectVersion,headers,delayMs,dueAt,cancelWindowMs}'::text[] <> '{}' then 'unknown'
        when e ->> 'name' is not null and (jsonb_typeof(e -> 'name') <> 'string' or octet_length(e ->> 'name') not between 1 and 128 or strpos(e ->> 'name', '/') > 0)
          then '"name" must be a string of 1 to 128 bytes without "/"'
        when e ->> 'name' is null and strpos(e ->> 'kind', '/') > 0 then 'a kind with "/" needs a "name" without it'
        when e ->> 'target' is not null and (jsonb_typeof(e -> 'target') <> 'string' or octet_length(e ->> 'target') not between 1 and 128) then '"target" must be a string of 1 to 128 bytes'
        when e ->> 'version' is not null and (jsonb_typeof(e -> 'version') <> 'number' or e ->> 'version' !~ '^[1-9][0-9]{0,8}$') then '"version" must be a positive integer'
        when e ->> 'key' is not null and (jsonb_typeof(e -> 'key') <> 'string' or octet_length(e ->> 'key') not between 1 and 512 or strpos(e ->> 'key', '/') > 0)
          then '"key" must be a string of 1 to 512 bytes without "/" (derived keys use it)'
        when e ->> 'orderingKey' is not null and (jsonb_typeof(e -> 'orderingKey') <> 'string' or octet_length(e ->> 'orderingKey') not between 1 and 512)
          then '"orderingKey" must be a string of 1 to 512 bytes'
        when e ->> 'subjectVersion' !~ '^[0-9]{1,18}$' then '"subjectVersion" must be an integer from 0 to 10^18-1'
        when e ->> 'headers' is not null and (jsonb_typeof(e -> 'headers') <> 'object' or jsonb_path_exists(e -> 'headers', 'strict $.* ? (@.type() != "string")')
            or octet_length(e ->> 'headers') > 16384)
          then '"headers" must be an object of strings of at most 16384 bytes in all'
        when num_nonnulls(e ->> 'delayMs', e ->> 'dueAt', e ->> 'cancelWindowMs') > 1 then 'only one of "delayMs", "dueAt" and "cancelWindowMs" can be given'
        when e ->> 'delayMs' is not null and (jsonb_typeof(e -> 'delayMs') <> 'number' or (e -> 'delayMs')::numeric not between 0 and 34560000000)
          then '"delayMs" must be a number of milliseconds from 0 to 400 days'
        when e ->> 'cancelWindowMs' is not null and (jsonb_typeof(e -> 'cancelWindowMs') <> 'number' or (e -> 'cancelWindowMs')::numeric not between 0 and 34560000000)
          then '"cancelWindowMs" must be a number of milliseconds from 0 to 400 days'
        when e ->> 'dueAt' !~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$' then 'dueAt'
      end;
      if wrong is null and e ->> 'dueAt' is not null then
        -- The pattern asks for an offset; the cast finds the 30th of February.
        begin
          wrong := case when (e ->> 'dueAt')::timestamptz > clock_timestamp() + interval '400 days' then 'dueAt' end;
        exception when data_exception then
          wrong := 'dueAt';
        end;
      end if;
      if wrong = 'dueAt' then
        wrong := '"dueAt" must be an ISO 8601 instant with an offset, at most 400 days ahead, e.g. 2026-03-08T02:30:00-05:00';
      elsif wrong = 'unknown' then
        wrong := format('unknown member "%s"', (select min(m) from jsonb_object_keys(e) m
          where m <> all ('{name,kind,version,target,payload,key,orderingKey,subjectVersion,headers,delayMs,dueAt,cancelWindowMs}')));
      end if;
    end if;
    if wrong is not null then
      return format('effects[%s]: %s', i, wrong);
    end if;
  end loop;
  if jsonb_array_length(effects) > 1 then
    select x.name into wrong from (select coalesce(d.v ->> 'name', d.v ->> 'kind') as name from jsonb_array_elements(effects) d (v)) x group by 1 having count(*) > 1 order by 1 limit 1;
    if found then
      return format('two effects have the name "%s"; give each a "name" (the default is its kind)', wrong);
    end if;
  end if;
  return null;
end
$fn$;

-- Records a decision and its effects in the caller's transaction, or says why not. Always one row. A refusal is a row, so the caller's transaction stays usable.
--   status: decided | existing | conflict | invalid | invalid_payload | too_large | too_many_lanes | key_taken
-- Loops of plain INSERTs and few, large expressions on purpose: one statement for everything is planned anew each time, and each expression is set up anew in each transaction.
create or replace function comanda.try_decide(decision jsonb)
returns table (status text, run_id bigint, created boolean, run_key text, run_state text, effects_hash text, decided_at timestamptz, problem text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $fn$
#variable_conflict use_column
declare
  effects jsonb := decision -> 'effects';
  e jsonb;
  payload text;
  contents text[];
  given_hash bytea;
  known_hash bytea;
  most int;
  special boolean;
  ids bigint[];
  refused text;
  seed bigint;
  setting text;
  lanes text;
  lane text;
  written record;
begin
  problem := comanda.invalid_decision(decision);
  run_key := decision ->> 'key';
  if problem is not null then
    status := 'invalid';
    created := false;
    return next;
    return;
  end if;

  for i in 1 .. jsonb_array_length(effects) loop
    e := effects -> (i - 1);
    -- A few bytes of JSON can stand for megabytes of digits (1e9999): what could hold many such numbers is looked at before it is printed.
    payload := case when (pg_column_size(e -> 'payload') > 2000 or octet_length((e -> 'payload')::text) > 1000)
        and jsonb_path_exists(e -> 'payload', '$.** ? (@.type() == "number" && (@ >= 1e1000 || @ <= -1e1000 || (@ > -1e-1000 && @ < 1e-1000 && @ != 0)))')
      then null else coalesce(e -> 'payload', '{}')::text end;
    if payload is null or octet_length(payload) > 1024 then
      select i.payload_max_bytes into most from comanda.installation i;
      status := case when payload is null then 'invalid_payload' when octet_length(payload) > most then 'too_large' end;
      if status is not null then
        problem := format('effects[%s]: ', i - 1) || case when payload is null then 'a number has more than 1000 digits before or after the decimal point'
          else format('the payload has %s bytes as stored; the limit of this installation is %s bytes', octet_length(payload), most) end;
        created := false;
        return next;
        return;
      end if;
    end if;
    contents[i] := comanda.effect_content(coalesce(e ->> 'name', e ->> 'kind'), e ->> 'kind', coalesce((e ->> 'version')::int, 1), payload,
      e ->> 'key', e ->> 'orderingKey', (e ->> 'subjectVersion')::bigint);
    if e ?| '{key,orderingKey}' then
      special := true;
    end if;
  end loop;
  given_hash := sha256(convert_to(to_json(coalesce(decision ->> 'subject', ''))::text || chr(10) || array_to_string(coalesce(contents, '{}'), chr(10)), 'UTF8'));

  insert into comanda.run (key, subject, kind, actor_type, actor_id, on_behalf_of, by_agent, tenant, reason, trigger_origin, workflow_version, endpoint_class,
      model, model_revision, validation, repairs, output, effects_hash, state)
    values (decision ->> 'key', coalesce(decision ->> 'subject', ''), decision ->> 'kind', decision -> 'actor' ->> 'type', decision -> 'actor' ->> 'id',
      nullif(decision -> 'actor' -> 'onBehalfOf', 'null'),
      -- An agent anywhere in the chain, or a model.
      coalesce(decision ->> 'model', decision ->> 'modelRevision') is not null
        or coalesce(jsonb_path_exists(decision -> 'actor', '$.**.type ? (@ == "agent")'), false),
      decision ->> 'tenant', decision ->> 'reason', decision ->> 'trigger', decision ->> 'workflowVersion', decision ->> 'endpointClass',
      decision ->> 'model', decision ->> 'modelRevision', decision ->> 'validation', (decision ->> 'repairs')::int, decision ->> 'output', given_hash, 'decided')
    on conflict (key) do nothing
    returning id, created_at, 'decided', true, state, encode(effects_hash, 'hex') into run_id, decided_at, status, created, run_state, effects_hash;
  if run_id is null then
    -- A second statement, hence a new snapshot: the winner's row is visible now.
    select r.id, r.created_at, r.state, encode(r.effects_hash, 'hex'), r.effects_hash into run_id, decided_at, run_state, effects_hash, known_hash
      from comanda.run r where r.key = decision ->> 'key';
    if run_id is null then
      -- REPEATABLE READ: the winner committed after our snapshot. The caller starts over.
      raise exception 'the decision "%" was taken by a concurrent transaction that this snapshot cannot see', run_key using errcode = '40001';
    end if;
    created := false;
    status := case when known_hash = given_hash then 'existing' else 'conflict' end;
    if status = 'conflict' then
      problem := format('the key was decided at %s with other content (stored hash %s, given hash %s)', decided_at, left(effects_hash, 12), left(encode(given_hash, 'hex'), 12));
    end if;
    return next;
    return;
  end if;

  if special then
    if jsonb_path_exists(effects, '$[*].key ? (@ != null)') then
      ids := array(select nextval('comanda.effect_id'::regclass) from jsonb_array_elements(effects));
      -- In one order, so that two transactions with the same keys cannot deadlock.
      insert into comanda.effect_key (key, effect_id)
        select d.v ->> 'key', ids[d.n] from jsonb_array_elements(effects) with ordinality d (v, n) where d.v ->> 'key' is not null order by d.v ->> 'key' collate "C"
        on conflict do nothing;
      select 'key_taken', format('the effect key "%s" is used twice in this decision or by another effect', d.v ->> 'key') into refused, problem
        from jsonb_array_elements(effects) with ordinality d (v, n)
        where d.v ->> 'key' is not null and not exists (select from comanda.effect_key t where t.key = d.v ->> 'key' and t.effect_id = ids[d.n]) limit 1;
    end if;
    -- The hashes of this transaction's lanes, for the first firing of place(). A savepoint that is rolled back restores the setting.
    seed := 'comanda.effect_arrival'::regclass::oid::bigint;
    setting := 'comanda.lanes_' || seed;
    lanes := coalesce(current_setting(setting, true), '');
    for i in 1 .. jsonb_array_length(effects) loop
      e := effects -> (i - 1);
      if e ->> 'orderingKey' is not null and coalesce(e ->> 'delayMs', e ->> 'dueAt', e ->> 'cancelWindowMs') is null then
        lane := hashtextextended(e ->> 'orderingKey', seed)::text;
        if strpos(' ' || lanes || ' ', ' ' || lane || ' ') = 0 then
          lanes := ltrim(lanes || ' ' || lane);
          if length(lanes) > 1999 and cardinality(string_to_array(lanes, ' ')) > 1000 then
            refused := 'too_many_lanes';
            problem := 'this transaction touches more than 1000 ordering keys; commit in smaller transactions';
            exit;
          end if;
        end if;
      end if;
    end loop;
    if refused is not null then
      delete from comanda.effect_key t where t.effect_id = any (ids);
      delete from comanda.run r where r.id = run_id;
      select refused, false into status, created;
      select null, null, null, null into run_id, run_state, effects_hash, decided_at;
      return next;
      return;
    end if;
    lanes := set_config(setting, lanes, true);
  end if;

  for i in 1 .. jsonb_array_length(effects) loop
    e := effects -> (i - 1);
    insert into comanda.effect as w (id, run_id, name, kind, kind_version, target, payload, headers, explicit_key, ordering_key, subject_version, waits)
      values (coalesce(ids[i], nextval('comanda.effect_id'::regclass)), run_id, coalesce(e ->> 'name', e ->> 'kind'), e ->> 'kind', coalesce((e ->> 'version')::int, 1),
        coalesce((select p.target from comanda.effect_kind p where p.kind = e ->> 'kind' and p.version = coalesce((e ->> 'version')::int, 1)), e ->> 'target', e ->> 'kind'),
        coalesce(e -> 'payload', '{}')::text, coalesce(e ->> 'headers', decision ->> 'headers'), e ->> 'key', e ->> 'orderingKey', (e ->> 'subjectVersion')::bigint,
        case when e ->> 'cancelWindowMs' is not null then 'window' when coalesce(e ->> 'delayMs', e ->> 'dueAt') is not null then 'delayed' end)
      returning w.id, w.kind, w.target, w.ordering_key, w.waits into written;
    if written.waits is not null then
      insert into comanda.waiting (effect_id, reason, next_at, lane, kind, target)
        values (written.id, written.waits,
          coalesce((e ->> 'dueAt')::timestamptz, clock_timestamp() + coalesce(e ->> 'delayMs', e ->> 'cancelWindowMs')::float8 * interval '1 millisecond'),
          coalesce('k:' || written.ordering_key, 'e:' || written.id), written.kind, written.target);
    elsif written.ordering_key is null then
      insert into comanda.effect_arrival (id, effect_id, lane, kind, target)
        values (nextval('comanda.lane_position'::regclass), written.id, 'e:' || written.id, written.kind, written.target);
      if coalesce(pg_sequence_last_value('comanda.awake'::regclass), 0) < extract(epoch from clock_timestamp()) * 1000 then
        perform comanda.wake();
      end if;
    end if;
  end loop;
  return next;
end
$fn$;

-- Records a decision and its effects in the caller's transaction. Raises what it refuses, with an SQLSTATE of class CM.
create or replace function comanda.decide(decision jsonb)
returns table (run_id bigint, created boolean, run_key text, run_state text, effects_hash text, decided_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  r record;
begin
  select * into r from comanda.try_decide(decision);
  if r.status not in ('decided', 'existing') then
    raise exception '%: %', coalesce(r.run_key, 'decision'), r.problem using
      errcode = case r.status when 'conflict' then 'CM001' when 'invalid' then 'CM002' when 'invalid_payload' then 'CM003' when 'too_large' then 'CM004'
        when 'too_many_lanes' then 'CM005' when 'key_taken' then 'CM006' else 'CM002' end,
      detail = jsonb_strip_nulls(jsonb_build_object('key', r.run_key, 'runId', r.run_id::text, 'storedHash', r.effects_hash, 'firstSeenAt', r.decided_at))::text,
      hint = case r.status when 'conflict' then 'Same business event: send the same content. A correction: use a new key. comanda explain shows what was decided.'
        when 'key_taken' then 'An explicit key names one effect for ever. Drop "key" to use <decision key>/<name>.' else 'Nothing was written.' end;
  end if;
  run_id := r.run_id;
  created := r.created;
  run_key := r.run_key;
  run_state := r.run_state;
  effects_hash := r.effects_hash;
  decided_at := r.decided_at;
  return next;
end
$fn$;

-- Many decisions in one call. One row per input, in the order given; duplicates inside the batch are one decision. Keys are taken in sorted order, so that two
-- batches cannot deadlock. A refused decision is a row with its status; the others stand.
create or replace function comanda.decide_many(decisions jsonb)
returns table (n int, status text, run_id bigint, created boolean, run_key text, run_state text, effects_hash text, decided_at timestamptz, problem text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
begin
  if decisions is null or jsonb_typeof(decisions) <> 'array' or jsonb_array_length(decisions) > 10000 then
    raise exception 'decide_many takes a JSON array of at most 10000 decisions' using errcode = 'CM002';
  end if;
  return query
    with decided as materialized (select o.n as position, x.* from (
      select (d.n - 1)::int as n, d.v from jsonb_array_elements(decisions) with ordinality d (v, n)
        order by d.v ->> 'key' collate "C", d.n offset 0) o
      cross join lateral comanda.try_decide(o.v) x)
    select * from decided d order by d.position;
end
$fn$;

-- The scopes that are off, as the switch says now. Null = act on nothing: the row for `all` is missing, unreadable or not `run` (or `drain`, when that is allowed).
create or replace function comanda.stopped(draining_acts boolean) returns text[]
language sql stable set search_path = pg_catalog, pg_temp
as $fn$
  select case when bool_or(s.scope = 'all' and (s.mode = 'run' or (draining_acts and s.mode = 'drain')))
    then coalesce(array_agg(s.scope) filter (where s.scope <> 'all' and not (s.mode = 'run' or (draining_acts and s.mode = 'drain'))), '{}') end
  from comanda.switch s
$fn$;

-- Moves arrivals onto lanes, in commit order, and leases new lanes to the caller. One router at a time.
-- request: {relay, kinds: [{kind, lanes}], leaseMs, batch}. Returns only ids and small numbers: payloads are read apart, without locks.
create or replace function comanda.route(request jsonb)
returns table (lane text, fence bigint, pos bigint, effect_id bigint, kind text, target text, attempt int, suspect boolean, cancel boolean, lost int, looks int, trouble text, routed int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  who text := request ->> 'relay';
  lease interval := (request ->> 'leaseMs')::float8 * interval '1 millisecond';
  batch int := least(coalesce((request ->> 'batch')::int, 500), 2000);
  stopped text[] := comanda.stopped(false);
  allowed text[]; caps int[];
  ai bigint[]; ae bigint[]; al text[]; ak text[]; at_ text[];
  known text[]; locked text[]; busy text[]; mine text[];
  f bigint;
begin
  if who is null or lease is null then
    raise exception 'route needs {relay, leaseMs, kinds}' using errcode = 'CM009';
  end if;
  -- A claim that a crash of the server forgets would be a blind re-send (redteam 1.11).
  perform set_config('synchronous_commit', 'on', true);
  if not pg_try_advisory_xact_lock('comanda.effect_arrival'::regclass::oid::int, 1) then
    return;
  end if;
  select array_agg(x ->> 'kind'), array_agg(coalesce((x ->> 'lanes')::int, 1)) into allowed, caps from jsonb_array_elements(request -> 'kinds') x
    where stopped is not null and not ('kind:' || (x ->> 'kind')) = any (stopped);

  select array_agg(x.id), array_agg(x.effect_id), array_agg(x.lane), array_agg(x.kind), array_agg(x.target) into ai, ae, al, ak, at_
    from (select * from comanda.effect_arrival y order by y.id limit batch) x;
  if ai is null then
    return;
  end if;
  select array_agg(distinct l) into known from unnest(al) l;
  select array_agg(s.lane) into locked from (
    select l.lane from comanda.lane l where l.lane = any (known) order by l.lane for update skip locked) s;
  select array_agg(p.lane) into busy from (select l.lane from comanda.lane l where l.lane = any (known)) p where not p.lane = any (coalesce(locked, '{}'));
  if busy is not null then
    -- All rows of a busy lane stay: a later one must not be queued before an earlier one.
    select array_agg(i order by i), array_agg(e order by i), array_agg(l order by i), array_agg(k order by i), array_agg(t order by i) into ai, ae, al, ak, at_
      from unnest(ai, ae, al, ak, at_) u (i, e, l, k, t) where not l = any (busy);
    if ai is null then
      return;
    end if;
  end if;
  -- Only rows that this DELETE returned are queued: a second router could not re-insert what the first one moved (relay-model, M_TWOROUTERS).
  with gone as (delete from comanda.effect_arrival y where y.id = any (ai) returning y.id, y.effect_id, y.lane, y.kind, y.target)
    select array_agg(g.id), array_agg(g.effect_id), array_agg(g.lane), array_agg(g.kind), array_agg(g.target) into ai, ae, al, ak, at_ from (select * from gone order by id) g;
  if ai is null then
    return;
  end if;
  f := nextval('comanda.fence'::regclass);
  with heads as (select distinct on (l) l, i, k, t from unnest(ai, al, ak, at_) u (i, l, k, t)
      where locked is null or not exists (select from unnest(locked) x (l) where x.l = u.l) order by l, i),
    given as (select h.*, row_number() over (order by h.i) as n, coalesce(row_number() over (partition by h.k order by h.i) <= (select c.n from unnest(allowed, caps) c (k, n) where c.k = h.k limit 1)
        and not ('target:' || h.t) = any (stopped), false) as leased from heads h),
    made as (insert into comanda.lane (lane, kind, target, ready_at, fence, attempt, inflight_to, owner, first_at)
      select g.l, g.k, g.t, 
          -- Microseconds keep the order of arrival among lanes that become due in one call: oldest first.
          case when g.leased then now() + lease else now() - (2000 - g.n) * interval '1 microsecond' end, f, g.leased::int, case when g.leased then g.i end,
        case when g.leased then who end, case when g.leased then now() end from given g order by g.l returning lane, owner)
  select array_agg(m.lane) filter (where m.owner is not null) into mine from made m;
  insert into comanda.effect_queue (lane, pos, effect_id, kind, target) select * from unnest(al, ai, ae, ak, at_);
  return query
    select h.l, f, h.i, h.e, h.k, h.t, 1, false,
        exists (select from comanda.effect_request q where q.effect_id = h.e and q.answered_at is null and q.action = 'cancel'), 0, 0, null::text, cardinality(ai)
      from (select distinct on (u.l) u.l, u.i, u.e, u.k, u.t from unnest(ai, ae, al, ak, at_) u (i, e, l, k, t) join unnest(mine) m (l) on m.l = u.l order by u.l, u.i) h
    union all
    select null, null, null, null, null, null, null, null, null, null, null, null, cardinality(ai) where mine is null;
end
$fn$;

-- Leases due lanes of the caller's kinds and returns the head's prefix of equal kind and target. An expired lease is simply a due lane.
-- request: {relay, kinds: [{kind, lanes, batch}], leaseMs}. `batch` is 1 for non-idempotent kinds.
create or replace function comanda.claim(request jsonb)
returns table (lane text, fence bigint, pos bigint, effect_id bigint, kind text, target text, attempt int, suspect boolean, cancel boolean, lost int, looks int, trouble text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  who text := request ->> 'relay';
  lease interval := (request ->> 'leaseMs')::float8 * interval '1 millisecond';
  stopped text[] := comanda.stopped(false);
  names text[]; counts int[]; batches int[];
  ours text[]; parked text[];
  f bigint;
begin
  if who is null or lease is null then
    raise exception 'claim needs {relay, leaseMs, kinds}' using errcode = 'CM009';
  end if;
  perform set_config('synchronous_commit', 'on', true);
  if stopped is null then
    return;
  end if;
  select array_agg(x ->> 'kind'), array_agg(greatest(coalesce((x ->> 'lanes')::int, 1), 0)), array_agg(greatest(coalesce((x ->> 'batch')::int, 1), 1)) into names, counts, batches
    from jsonb_array_elements(request -> 'kinds') x where not ('kind:' || (x ->> 'kind')) = any (stopped);
  if names is null then
    return;
  end if;
  with due as materialized (
    select x.lane, x.target from unnest(names, counts) q (kind, n)
      cross join lateral (select l.lane, l.target from comanda.lane l where l.kind = q.kind and l.ready_at <= now() order by l.ready_at limit q.n for update skip locked) x)
  select array_agg(d.lane) filter (where not ('target:' || d.target) = any (stopped)), array_agg(d.lane) filter (where ('target:' || d.target) = any (stopped))
    into ours, parked from due d;
  if parked is not null then
    -- Parking an expired lease keeps its evidence: the owner was the only sign that it was held (chaos R4).
    update comanda.lane l set ready_at = 'infinity', parked_by = 'switch:target:' || l.target, parked_at = clock_timestamp(),
        suspect_to = case when l.owner is not null then greatest(l.inflight_to, l.suspect_to) else l.suspect_to end,
        cleared_to = case when l.owner is null then l.cleared_to end, inflight_to = null, owner = null,
        lost = case when l.owner is not null then greatest(l.lost, 1) else l.lost end,
        looks = case when l.owner is null or l.trouble is not null then l.looks else 0 end
      where l.lane = any (parked);
  end if;
  if ours is null then
    return;
  end if;
  f := nextval('comanda.fence'::regclass);
  return query
    with held as materialized (
      select u.lane, l.kind, l.target, l.trouble, case when l.owner is null or l.trouble is not null then l.looks else 0 end as looks,
          case when l.owner is not null then greatest(l.inflight_to, l.suspect_to) else l.suspect_to end as suspect_to,
          case when l.owner is null then l.cleared_to end as cleared_to,
          l.attempt + (l.trouble is distinct from 'unknown')::int as attempt,
          case when l.owner is null then l.lost when l.trouble = 'unknown' then l.lost + 1 else greatest(l.lost, 1) end as lost, q.pos, q.effect_id, q.rn
        from unnest(ours) u (lane)
        cross join lateral (select * from comanda.lane x where x.lane = u.lane limit 1) l
        left join lateral (
          select z.pos, z.effect_id, z.rn from (
            select r.pos, r.effect_id, row_number() over (order by r.pos) as rn, bool_and(r.kind = l.kind and r.target = l.target) over (order by r.pos) as same
              from (select * from comanda.effect_queue r0 where r0.lane = u.lane order by r0.pos
                limit case when l.owner is not null or l.suspect_to is not null or l.trouble is not null then 1
                  else (select b.n from unnest(names, batches) b (kind, n) where b.kind = l.kind limit 1) end) r) z
            where z.same) q on true),
      leased as (
        update comanda.lane x set ready_at = now() + lease, fence = f, attempt = x.attempt + (x.trouble is distinct from 'unknown')::int, owner = who,
            first_at = coalesce(x.first_at, now()), inflight_to = coalesce((select max(h.pos) from held h where h.lane = x.lane), x.inflight_to, 0),
            suspect_to = case when x.owner is not null then greatest(x.inflight_to, x.suspect_to) else x.suspect_to end,
            cleared_to = case when x.owner is null then x.cleared_to end,
            -- A start as a suspect is counted when it is sent (may_send); a look-up that kills its process is counted here.
            lost = case when x.owner is null then x.lost when x.trouble = 'unknown' then x.lost + 1 else greatest(x.lost, 1) end,
            looks = case when x.owner is null or x.trouble is not null then x.looks else 0 end
          where x.lane = any (ours))
    select h.lane, f, h.pos, h.effect_id, h.kind, h.target, case when h.rn = 1 then h.attempt else 1 end,
        coalesce(h.pos <= h.suspect_to and h.pos is distinct from h.cleared_to, false),
        exists (select from comanda.effect_request q where q.effect_id = h.effect_id and q.answered_at is null and q.action = 'cancel'),
        case when h.rn = 1 then h.lost else 0 end, case when h.rn = 1 then h.looks else 0 end, case when h.rn = 1 then h.trouble end
      from held h order by h.pos nulls last;
end
$fn$;

-- What claimed effects say: read apart from the claim, without locks. request: {effects: [ids]}.
create or replace function comanda.payloads(request jsonb)
returns table (effect_id bigint, payload text, idempotency_key text, run_key text, subject text, name text, kind_version int, headers text, subject_version text,
  started_ms_ago bigint, started_fence bigint, evidence text, evidence_provider_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off
as $fn$
  select e.id, e.payload, coalesce(e.explicit_key, r.key || '/' || e.name), r.key, r.subject, e.name, e.kind_version, e.headers, e.subject_version::text,
      s.ms_ago, s.fence, v.outcome, v.provider_id
    from comanda.effect e
    join comanda.run r on r.id = e.run_id
    left join lateral (
      select (extract(epoch from clock_timestamp() - a.at) * 1000)::bigint as ms_ago, a.fence from comanda.attempt a
        where e.id = any (array(select jsonb_array_elements_text(request -> 'suspects')::bigint)) and a.effect_id = e.id and a.phase = 'start'
          -- An attempt that certainly did nothing, and attempts before a believed `absent`, are resolved.
          and not exists (select from comanda.attempt x where x.effect_id = a.effect_id and x.fence = a.fence and x.phase in ('end', 'late') and x.outcome = 'retry')
          and not exists (select from comanda.attempt x where x.effect_id = a.effect_id and x.phase = 'look' and x.outcome = 'absent' and x.at > a.at)
        order by a.at desc limit 1) s on true
    left join lateral (
      select a.outcome, a.provider_id from comanda.attempt a
        where e.id = any (array(select jsonb_array_elements_text(request -> 'suspects')::bigint)) and a.effect_id = e.id and a.phase = 'late' and a.outcome = 'completed' limit 1) v on true
    where e.id = any (array(select jsonb_array_elements_text(request -> 'effects')::bigint))
$fn$;

-- May these effects be sent now? A fresh read: fence, lease left, switch, cancel; writes the start row for effects with `mark` (non-idempotent kinds) in the same statement.
-- request: {relay, floor: "none" | "agents" | "agents_and_undeclared", items: [{lane, fence, effect, attempt, suspect, lost, mark, needMs}]}
-- answer: go | lost | short | cancel | applied (late evidence says that it happened) | busy (try again) | off:<scope>
create or replace function comanda.may_send(request jsonb)
returns table (lane text, fence bigint, effect_id bigint, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  stopped text[] := comanda.stopped(true);
  floor text := coalesce(request ->> 'floor', 'agents_and_undeclared');  -- what is not understood is the strictest
  by_run boolean;
  locked text[];
begin
  perform set_config('synchronous_commit', 'on', true);
  by_run := floor <> 'none' or exists (select from unnest(stopped) s where s ~ '^(actor|agent|tenant):');
  -- A start as a suspect counts towards the three that quarantine a process killer. Never waits for a lane.
  select array_agg(s.lane) into locked from (
    select l.lane from comanda.lane l where l.lane = any (array(select x ->> 'lane' from jsonb_array_elements(request -> 'items') x where (x ->> 'lost')::int > 0))
      order by l.lane for update skip locked) s;
  return query
    with item as materialized (
      select x ->> 'lane' as lane, (x ->> 'fence')::bigint as fence, (x ->> 'effect')::bigint as effect_id, (x ->> 'attempt')::int as attempt,
          coalesce((x ->> 'suspect')::boolean, false) as suspect, coalesce((x ->> 'lost')::int, 0) as lost, coalesce((x ->> 'mark')::boolean, false) as mark,
          coalesce((x ->> 'needMs')::float8, 0) * interval '1 millisecond' as need
        from jsonb_array_elements(request -> 'items') x),
    answered as materialized (
      select i.*, case
          when l.fence is null or l.fence <> i.fence or l.owner is null then 'lost'
          when l.ready_at <= clock_timestamp() + i.need then 'short'
          when stopped is null then 'off:all'
          when ('kind:' || l.kind) = any (stopped) then 'off:kind:' || l.kind
          when ('target:' || l.target) = any (stopped) then 'off:target:' || l.target
          when by_run then coalesce((
            select case
                when floor <> 'none' and r.by_agent then 'off:floor:agents'
                when floor not in ('none', 'agents') and r.actor_type is null then 'off:floor:undeclared'
                when ('tenant:' || r.tenant) = any (stopped) then 'off:tenant:' || r.tenant
                when ('actor:' || r.actor_type) = any (stopped) then 'off:actor:' || r.actor_type
                when 'actor:agent' = any (stopped) and r.by_agent then 'off:actor:agent'
                else (select 'off:' || s from unnest(stopped) s where s like 'agent:%' and (r.actor_type = 'agent' and r.actor_id = substr(s, 7)
                  or jsonb_path_exists(r.on_behalf_of, '$.** ? (@.type == "agent" && @.id == $id)', jsonb_build_object('id', substr(s, 7)))) limit 1)
              end
              from comanda.effect e join comanda.run r on r.id = e.run_id where e.id = i.effect_id))
        end as refused
        from item i left join comanda.lane l on l.lane = i.lane),
    said as materialized (
      select a.*, case
          when a.refused is not null then a.refused
          when a.lost > 0 and not a.lane = any (coalesce(locked, '{}')) then 'busy'
          when a.mark and exists (select from comanda.attempt v where v.effect_id = a.effect_id and v.phase = 'late' and v.outcome = 'completed') then 'applied'
          when not a.suspect and exists (select from comanda.effect_request q where q.effect_id = a.effect_id and q.answered_at is null and q.action = 'cancel') then 'cancel'
          else 'go' end as answer from answered a),
    started as (
      insert into comanda.attempt (effect_id, fence, phase, attempt, owner)
        select s.effect_id, s.fence, 'start', coalesce(s.attempt, 1), request ->> 'relay' from said s where s.answer = 'go' and s.mark
          and not exists (select from comanda.attempt p where p.effect_id = s.effect_id and p.fence = s.fence and p.phase = 'start')),
    counted as (
      update comanda.lane l set lost = l.lost + 1 from said s where l.lane = s.lane and s.answer = 'go' and s.lost > 0)
    select s.lane, s.fence, s.effect_id, s.answer from said s;
end
$fn$;

-- Writes what became of claimed work, many lanes in one call. Only the owner settles (P4): everything is matched on (lane, fence) and on a lane that has an owner,
-- so that a repeated call does nothing. Never waits for a lane: what is locked comes back as `busy`.
-- request: {relay, leaseMs, lanes: [{lane, fence, mode, delayMs?, reason?, trouble?, giveBack?, keepLost?, looked?, headFailed?, maybe?, head?: attempt, ended?: [attempt + {pos, state, reason?, maybe?}]}]}
--   attempt: {effect, attempt, outcome, providerId?, status?, errorClass?, errorText?, response?, ms?}
--   mode: keep (the same lease goes on) | next | retry (certainly not applied) | unsure (may be applied) | unknown (may be applied; look it up when due)
--         | absent (looked up: not applied) | block (until a person acts, or until the scope named by reason is on again)
-- result: ok | busy (again) | fenced (somebody else owns the lane now, or it was settled already: keep the evidence)
create or replace function comanda.settle(request jsonb)
returns table (lane text, fence bigint, result text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  who text := coalesce(request ->> 'relay', 'relay');
  lease interval := coalesce((request ->> 'leaseMs')::float8, 30000) * interval '1 millisecond';
  al text[]; af bigint[]; aj jsonb[];
  ol text[]; of_ bigint[]; oj jsonb[]; om text[];
  el text[]; ef bigint[]; ej jsonb[]; tids tid[];
  ml text[]; mk text[]; mt text[]; mp bigint[]; me bigint[]; mm text[]; mj jsonb[]; mf bigint[]; mn boolean[];
  none text[]; illegal boolean;
begin
  select array_agg(x ->> 'lane'), array_agg((x ->> 'fence')::bigint), array_agg(x) into al, af, aj from jsonb_array_elements(request -> 'lanes') x;
  if al is null then
    return;
  end if;
  if exists (select from unnest(aj) j where coalesce(j ->> 'mode', '') not in ('keep', 'next', 'retry', 'unsure', 'unknown', 'absent', 'block')
        or j ->> 'mode' = 'absent' and j -> 'head' ->> 'effect' is null)
      or exists (select from unnest(al, af) u (l, f) group by u.l, u.f having count(*) > 1) then
    raise exception 'settle needs each lane once per fence, with a mode: keep, next, retry, unsure, unknown, absent (with its head) or block' using errcode = 'CM009';
  end if;
  select array_agg(s.lane), array_agg(s.fence), array_agg(x.j),
      -- A lane without owner was parked, released or settled meanwhile: not ours any more, so a repeated call changes nothing.
      array_agg(x.j ->> 'mode'),
      bool_or(s.trouble = 'unknown' and jsonb_path_exists(x.j, '$.ended[*] ? (@.state == "cancelled")')) into ol, of_, oj, om, illegal
    from (select l.lane, l.fence, l.owner, l.trouble from comanda.lane l where l.lane = any (al) order by l.lane for update skip locked) s
    join unnest(al, af, aj) x (lane, fence, j) on x.lane = s.lane and x.fence = s.fence
    where s.owner is not null;
  if ol is not null then
    if illegal then
      raise exception 'an effect whose outcome is unknown cannot be cancelled' using errcode = 'CM009';
    end if;
    -- `absent` is believed only if nothing that was learned meanwhile says otherwise (relay-model R5): found = completed, as an ended head.
    select array_agg(o.lane), array_agg(o.fence), array_agg(x.e), array_agg(q.t) into el, ef, ej, tids
      from unnest(ol, of_, oj) o (lane, fence, j)
      cross join lateral (
        select e from jsonb_array_elements(case when jsonb_typeof(o.j -> 'ended') = 'array' then o.j -> 'ended' else '[]' end) e
        union all
        select jsonb_build_object('pos', h.pos, 'effect', h.effect_id, 'state', 'completed', 'attempt', o.j -> 'head' -> 'attempt', 'outcome', 'completed',
            'providerId', h.provider_id, 'reason', 'late evidence')
          from (select r.pos, r.effect_id, v.provider_id from (select * from comanda.effect_queue r0 where r0.lane = o.lane order by r0.pos limit 1) r
            cross join lateral (select a.provider_id from comanda.attempt a where a.effect_id = r.effect_id and a.phase = 'late' and a.outcome = 'completed' limit 1) v) h
          where o.j ->> 'mode' = 'absent') x (e)
      cross join lateral (select r.ctid as t from comanda.effect_queue r where r.lane = o.lane and r.pos = (x.e ->> 'pos')::bigint and r.effect_id = (x.e ->> 'effect')::bigint limit 1) q;
    -- By ctid: right only because queue rows are never updated and their lane is locked.
    delete from comanda.effect_queue where ctid = any (tids);
    insert into comanda.outcome (effect_id, fence, state, settled_by, reason, attempts, provider_id, maybe_applied)
      select (e ->> 'effect')::bigint, f, e ->> 'state', who, e ->> 'reason', coalesce((e ->> 'attempt')::int, 1), e ->> 'providerId', coalesce((e ->> 'maybe')::boolean, false)
        from unnest(ef, ej) d (f, e);
    update comanda.effect_request r set answered_at = clock_timestamp(), answer = case when r.action = 'cancel' and d.e ->> 'state' = 'cancelled' then 'cancelled' else 'too late' end
      from unnest(ej) d (e)
      -- A request that a sweep holds at this moment is answered by a sweep: no waiting here.
      where r.effect_id = (d.e ->> 'effect')::bigint and r.id in (select w.id from comanda.effect_request w
        where w.answered_at is null and w.action = 'cancel' and w.effect_id in (select (x.e ->> 'effect')::bigint from unnest(ej) x (e)) for update skip locked);

    -- A new statement, hence a new snapshot after the lock: what is the head now?
    select array_agg(x.lane) filter (where m.kind is not null), array_agg(m.kind) filter (where m.kind is not null), array_agg(m.target) filter (where m.kind is not null),
        array_agg(m.pos) filter (where m.kind is not null), array_agg(m.effect_id) filter (where m.kind is not null), array_agg(x.md) filter (where m.kind is not null),
        array_agg(x.j) filter (where m.kind is not null), array_agg(x.fence) filter (where m.kind is not null), array_agg(x.lane) filter (where m.kind is null)
      into ml, mk, mt, mp, me, mm, mj, mf, none
      from unnest(ol, of_, om, oj) x (lane, fence, md, j)
      left join lateral (select r.kind, r.target, r.pos, r.effect_id from comanda.effect_queue r where r.lane = x.lane order by r.pos limit 1) m on true;
    if exists (select from unnest(el, ej) d (l, e) join unnest(ml, mp) m (lane, pos) on m.lane = d.l where (d.e ->> 'pos')::bigint > m.pos) then
      raise exception 'only the head prefix of a lane can be settled' using errcode = 'CM009';
    end if;
    -- The mode speaks about the head that the caller saw. When another one is the head - late evidence has just ended it - the rest is simply next.
    select array_agg(case when u.md in ('retry', 'unsure', 'unknown', 'absent', 'block') and u.j ? 'head' and (u.j -> 'head' ->> 'effect')::bigint <> u.e then 'next' else u.md end order by u.o),
        array_agg(coalesce(u.l = any (el), false) order by u.o)
      into mm, mn from unnest(ml, mm, mj, me) with ordinality u (l, md, j, e, o);

    -- Every try leaves an end row: those that ended, and the head that did not.
    insert into comanda.attempt (effect_id, fence, phase, attempt, owner, outcome, provider_id, status, error_class, error_text, response, duration_ms)
      select (t.e ->> 'effect')::bigint, t.f, case when t.e ->> 'outcome' in ('applied', 'absent', 'cannot_tell') then 'look' else 'end' end, coalesce((t.e ->> 'attempt')::int, 1), who,
          t.e ->> 'outcome', t.e ->> 'providerId', (t.e ->> 'status')::int, t.e ->> 'errorClass', t.e ->> 'errorText', t.e ->> 'response', (t.e ->> 'ms')::int
        from (select f, e from unnest(ef, ej) d (f, e) where d.e ? 'outcome'
          union all select o.f, o.j -> 'head' from unnest(of_, oj) o (f, j) where o.j -> 'head' ? 'outcome') t (f, e);
    insert into comanda.outcome (effect_id, fence, state, settled_by, reason, attempts, provider_id, maybe_applied)
      select u.e, u.f, 'failed', who, u.j ->> 'reason', coalesce((u.j -> 'head' ->> 'attempt')::int, 1), u.j -> 'head' ->> 'providerId', coalesce((u.j ->> 'maybe')::boolean, false)
        from unnest(me, mf, mj, mm) u (e, f, j, md) where u.md = 'block' and coalesce((u.j ->> 'headFailed')::boolean, false);

    if none is not null then
      delete from comanda.lane l where l.lane = any (none);
    end if;
    if ml is not null then
      -- `fresh`: something ended, so the head is another effect than the claim's. What was counted about that one does not pass on; the lifetime of its key does, to be on the safe side.
      -- `lost` outlives a clean release only: an attempt that has a result is one that its process survived.
      -- `next` without an end gives a lane up without a word about its head: as an expired lease, so what was in flight is suspect.
      update comanda.lane l set kind = u.hk, target = u.ht,
          ready_at = case when u.md = 'keep' then now() + lease when u.md = 'block' then 'infinity'::timestamptz when u.md in ('next', 'absent') then now()
            else now() + coalesce((u.j ->> 'delayMs')::float8, 0) * interval '1 millisecond' end,
          attempt = case when u.fresh and u.md = 'next' then 0 else greatest(case when u.fresh then 1 else l.attempt end - u.given_back::int, 0) end,
          inflight_to = case when u.md = 'keep' then l.inflight_to end,
          suspect_to = case when u.uncertain then greatest(u.hp, l.suspect_to) when u.silent then greatest(l.inflight_to, l.suspect_to) when u.hp <= l.suspect_to then l.suspect_to end,
          cleared_to = case when u.md = 'absent' then u.hp when u.uncertain or u.silent then null when u.hp = l.cleared_to then l.cleared_to end,
          first_at = case when u.md <> 'next' or not u.fresh or u.hp <= l.suspect_to then l.first_at end,
          owner = case when u.md = 'keep' then l.owner end,
          lost = case when not u.fresh and (u.md in ('keep', 'next') or u.given_back and not u.j ? 'head' and u.md in ('retry', 'block') or coalesce((u.j ->> 'keepLost')::boolean, false)) then l.lost else 0 end,
          trouble = case when u.md = 'unknown' then 'unknown' when u.md = 'block' and u.j ->> 'trouble' is not null then u.j ->> 'trouble'
            when not u.fresh and (u.md in ('keep', 'next', 'block') or u.md in ('retry', 'unsure') and u.hp <= l.suspect_to) then l.trouble end,
          looks = coalesce((u.j ->> 'looked')::boolean, false)::int
            + case when not u.fresh and (u.md in ('keep', 'next', 'unknown', 'block') or u.md in ('retry', 'unsure') and l.trouble is not null) then l.looks else 0 end,
          parked_by = case when u.md = 'block' then coalesce(u.j ->> 'reason', 'blocked') end,
          parked_at = case when u.md = 'block' then clock_timestamp() end
        from (select x.*, x.md in ('unsure', 'unknown') or x.md = 'block' and coalesce(x.j ->> 'trouble' = 'unknown', false) as uncertain, x.md = 'next' and not x.fresh as silent,
            coalesce((x.j ->> 'giveBack')::boolean, false) as given_back
          from unnest(ml, mk, mt, mp, mm, mj, mn) x (lane, hk, ht, hp, md, j, fresh)) u where l.lane = u.lane;
    end if;
  end if;
  return query
    select x.l, x.f, case
        when exists (select from unnest(ol, of_) o (l, f) where o.l = x.l and o.f = x.f) then 'ok'
        when exists (select from comanda.lane l where l.lane = x.l and l.fence = x.f and l.owner is not null) then 'busy'
        else 'fenced' end
      from unnest(al, af) x (l, f);
end
$fn$;

-- Keeps what a late worker learned about work that it no longer owns: an input to reconcile. An answer that was settled already is not kept twice.
-- An outcome that the relay had to guess when it left the handler behind (unknown, retry) does not stand in the way of what the handler says afterwards.
-- request: {relay, items: [{fence, effect, attempt, outcome, providerId?, status?, errorClass?, errorText?, response?, ms?}]}
create or replace function comanda.late_evidence(request jsonb) returns table (effect_id bigint, kept boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
begin
  return query
    with item as materialized (select x as e, (x ->> 'effect')::bigint as id, (x ->> 'fence')::bigint as f from jsonb_array_elements(request -> 'items') x),
    fresh as materialized (
      select i.* from item i where not exists (select from comanda.outcome o where o.effect_id = i.id and o.fence = i.f)
        and not exists (select from comanda.attempt a where a.effect_id = i.id and a.fence = i.f and (a.phase = 'late' or a.phase = 'end' and (a.outcome = 'completed' or i.e ->> 'outcome' <> 'completed')))),
    kept as (
      insert into comanda.attempt (effect_id, fence, phase, attempt, owner, outcome, provider_id, status, error_class, error_text, response, duration_ms)
        select f.id, f.f, 'late', coalesce((f.e ->> 'attempt')::int, 1), request ->> 'relay', f.e ->> 'outcome', f.e ->> 'providerId', (f.e ->> 'status')::int,
            f.e ->> 'errorClass', f.e ->> 'errorText', f.e ->> 'response', (f.e ->> 'ms')::int from fresh f
        returning effect_id)
    select i.id, exists (select from kept k where k.effect_id = i.id) from item i;
end
$fn$;

-- Prolongs leases that the caller still holds. request: {relay, leaseMs, lanes: [{lane, fence}]}. result: ok | busy (again) | lost (stop: somebody else owns it, or the lease is over)
create or replace function comanda.renew(request jsonb) returns table (lane text, fence bigint, result text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  lease interval := (request ->> 'leaseMs')::float8 * interval '1 millisecond';
  al text[]; af bigint[]; ol text[]; of_ bigint[];
begin
  perform set_config('synchronous_commit', 'on', true);
  select array_agg(x ->> 'lane'), array_agg((x ->> 'fence')::bigint) into al, af from jsonb_array_elements(request -> 'lanes') x;
  select array_agg(s.lane), array_agg(s.fence) into ol, of_
    from (select l.lane, l.fence, l.owner, l.ready_at from comanda.lane l where l.lane = any (al) order by l.lane for update skip locked) s
    join unnest(al, af) x (lane, fence) on x.lane = s.lane and x.fence = s.fence where s.owner is not null and s.ready_at > clock_timestamp();
  update comanda.lane l set ready_at = clock_timestamp() + lease where l.lane = any (ol);
  return query
    select x.l, x.f, case
        when exists (select from unnest(ol, of_) o (l, f) where o.l = x.l and o.f = x.f) then 'ok'
        when exists (select from comanda.lane l where l.lane = x.l and l.fence = x.f and l.owner is not null and l.ready_at > clock_timestamp()) then 'busy'
        else 'lost' end
      from unnest(al, af) x (l, f);
end
$fn$;

-- A relay says that it lives, which kinds it can execute and which switch version it obeys; learns the switch as it is now.
-- request: {relay, kinds: [names], softwareVersion, schemaVersion, switchVersion, stopping?}
create or replace function comanda.relay_beat(request jsonb)
returns table (switch_version bigint, all_mode text, stopped text[], schema_version int, compatible_from int, database_now timestamptz, statement_timeout text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
begin
  insert into comanda.relay (id, kinds, software_version, schema_version, switch_version)
    values (request ->> 'relay', array(select jsonb_array_elements_text(coalesce(request -> 'kinds', '[]'))), request ->> 'softwareVersion', (request ->> 'schemaVersion')::int,
      coalesce((request ->> 'switchVersion')::bigint, 0))
    on conflict (id) do update set kinds = excluded.kinds, switch_version = excluded.switch_version, beat_at = clock_timestamp(),
      stopped_at = case when coalesce((request ->> 'stopping')::boolean, false) then clock_timestamp() end;
  return query select (select max(s.version) from comanda.switch s), (select s.mode from comanda.switch s where s.scope = 'all'),
      coalesce(comanda.stopped(false), '{all}'), i.schema_version, i.compatible_from, clock_timestamp(), current_setting('statement_timeout')
    from comanda.installation i;
end
$fn$;

-- Tells the database what a deployment's kinds are: risk, target, key contract. decide() takes the target from here, never from a caller who differs.
-- request: {by, kinds: [{kind, version, target, risk, idempotency, onUnknown, maxAttempts, timeoutMs, redact?, inputSchema?}]}
create or replace function comanda.publish_kinds(request jsonb) returns table (kind text, version int)
language sql security definer set search_path = pg_catalog, pg_temp
as $fn$
  insert into comanda.effect_kind as k (kind, version, target, risk, idempotency, on_unknown, contract, redaction, input_schema, max_attempts, timeout_ms, published_by)
    select x ->> 'kind', coalesce((x ->> 'version')::int, 1), x ->> 'target', x ->> 'risk', x ->> 'idempotency', x ->> 'onUnknown', coalesce(x -> 'contract', '{}'),
        array(select jsonb_array_elements_text(coalesce(x -> 'redact', '[]'))), x -> 'inputSchema', (x ->> 'maxAttempts')::int, (x ->> 'timeoutMs')::bigint, request ->> 'by'
      from jsonb_array_elements(request -> 'kinds') x order by 1, 2
    on conflict (kind, version) do update set target = excluded.target, risk = excluded.risk, idempotency = excluded.idempotency, on_unknown = excluded.on_unknown,
      contract = excluded.contract, redaction = excluded.redaction, input_schema = excluded.input_schema, max_attempts = excluded.max_attempts,
      timeout_ms = excluded.timeout_ms, published_by = excluded.published_by, published_at = clock_timestamp()
      where (k.target, k.risk, k.idempotency, k.on_unknown, k.contract, k.redaction, k.input_schema, k.max_attempts, k.timeout_ms)
        is distinct from (excluded.target, excluded.risk, excluded.idempotency, excluded.on_unknown, excluded.contract, excluded.redaction, excluded.input_schema, excluded.max_attempts, excluded.timeout_ms)
    returning kind, version
$fn$;

-- Housekeeping that any relay does, one at a time, in bounded batches: moves waiting effects that are due, unparks lanes whose reason no longer holds, applies what people asked for,
-- makes partitions ahead, forgets relays that are long gone. request: {relay, batch?}. One row: what was done.
create or replace function comanda.sweep(request jsonb)
returns table (moved int, unparked int, answered int, ran boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  batch int := least(coalesce((request ->> 'batch')::int, 500), 5000);
begin
  perform set_config('synchronous_commit', 'on', true);
  if not pg_try_advisory_xact_lock('comanda.effect_arrival'::regclass::oid::int, 2) then
    return query select 0, 0, 0, false;
    return;
  end if;
  moved := comanda.sweep_waiting(batch);
  unparked := comanda.sweep_parked(batch);
  answered := comanda.sweep_requests(batch);
  delete from comanda.relay r where r.beat_at < clock_timestamp() - interval '1 day';
  perform comanda.ensure_partitions(clock_timestamp());
  return query select moved, unparked, answered, true;
end
$fn$;

-- Waiting effects that are due get their place in the lane now. Takes the lane's advisory lock too (tries: never waits); a busy lane waits for the next pass.
-- Only reasons that are known here: what a newer version lets wait is its own.
create or replace function comanda.sweep_waiting(batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  seed bigint := 'comanda.effect_arrival'::regclass::oid::bigint;
  due_lanes text[]; free text[]; n int;
begin
  -- Lanes first: thousands of due effects of one lane that a caller holds must not keep the others waiting.
  select array_agg(x.lane) into due_lanes from (
    select d.lane from (select w.lane, w.next_at from comanda.waiting w where w.next_at <= clock_timestamp() and w.reason in ('delayed', 'window')
        order by w.next_at limit batch * 20) d
      group by d.lane order by min(d.next_at) limit batch) x;
  if due_lanes is null then
    return 0;
  end if;
  select array_agg(z.l) into free from (
    select l from unnest(due_lanes) l where l like 'e:%' or pg_try_advisory_xact_lock(hashtextextended(substr(l, 3), seed)) order by l) z;
  with due as materialized (
      select w.effect_id from comanda.waiting w join unnest(free) f (lane) on f.lane = w.lane
        where w.next_at <= clock_timestamp() and w.reason in ('delayed', 'window') order by w.next_at limit batch for update of w skip locked),
    gone as (delete from comanda.waiting w using due d where w.effect_id = d.effect_id returning w.*)
  insert into comanda.effect_arrival (id, effect_id, lane, kind, target)
    select nextval('comanda.lane_position'::regclass), o.effect_id, o.lane, o.kind, o.target from (select * from gone g order by g.next_at, g.effect_id) o;
  get diagnostics n = row_count;
  return n;
end
$fn$;

-- Level-triggered (relay-model R7): every lane parked by a switch that is on again is due, whoever switched and whenever. Draws a new fence.
create or replace function comanda.sweep_parked(batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  lanes text[]; n int;
begin
  select array_agg(x.lane) into lanes from (
    select l.lane from comanda.lane l where l.parked_by like 'switch:%'
      and not exists (select from comanda.switch s where s.scope = substr(l.parked_by, 8) and s.mode <> 'run') limit batch for update skip locked) x;
  if lanes is null then
    return 0;
  end if;
  update comanda.lane l set ready_at = clock_timestamp(), parked_by = null, parked_at = null, fence = nextval('comanda.fence'::regclass) where l.lane = any (lanes);
  get diagnostics n = row_count;
  return n;
end
$fn$;

-- Months ahead, so that the default partitions stay empty; what is in one all the same moves. Runs as the owner: a relay needs no right to create.
-- It must not wait: behind a waiting lock everybody else would wait too, for as long as one open transaction has read the table. Then a later pass makes the month.
create or replace function comanda.ensure_partitions(instant timestamptz) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' set lock_timeout = '50ms' as $fn$
declare
  ns text := (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = 'comanda.run'::regclass);
  parent text; instant_column text; month timestamptz; part text; made int := 0;
begin
  for parent, instant_column in values ('attempt', 'at'), ('event', 'created_at'), ('audit', 'at') loop
    for i in 0 .. 2 loop
      month := date_trunc('month', instant) + make_interval(months => i);
      part := parent || '_' || to_char(month, 'YYYYMM');
      continue when exists (select from pg_class c where c.relname = part and c.relnamespace = to_regnamespace(quote_ident(ns)));
      begin
        execute format('lock table %I.%I in access exclusive mode', ns, parent || '_default');
        execute format('create table %1$I.%2$I (like %1$I.%3$I including defaults including constraints)', ns, part, parent);
        execute format('with moved as (delete from %1$I.%2$I where %4$I >= %5$L and %4$I < %6$L returning *) insert into %1$I.%3$I select * from moved',
          ns, parent || '_default', part, instant_column, month, month + interval '1 month');
        execute format('alter table %1$I.%2$I attach partition %1$I.%3$I for values from (%4$L) to (%5$L)', ns, parent, part, month, month + interval '1 month');
        made := made + 1;
      exception when lock_not_available or check_violation then
        return made;
      end;
    end loop;
  end loop;
  return made;
end
$fn$;

-- Applies what people and callers asked for, to lanes that nobody owns, and answers requests whose effect has ended (relay-model R6). The owner of a leased lane does it itself.
-- People come first, and what must wait for its effect's turn is left out: thousands of those must not starve the others.
create or replace function comanda.sweep_requests(batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  q record; n int := 0; said text;
begin
  for q in
    select r.id from comanda.effect_request r
      where r.answered_at is null and (r.action not in ('cancel', 'skip', 'resolve')
        or exists (select from comanda.outcome o where o.effect_id = r.effect_id)
        or exists (select from comanda.effect e join comanda.lane l on l.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id)
          where e.id = r.effect_id and l.owner is null and (r.action <> 'cancel' or l.trouble is null)
            and e.id = (select h.effect_id from comanda.effect_queue h where h.lane = l.lane order by h.pos limit 1))
        -- What will never have a turn is told so at once.
        or r.action = 'skip' and exists (select from comanda.waiting w where w.effect_id = r.effect_id)
        or r.action = 'resolve' and not exists (select from comanda.effect e join comanda.lane l on l.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id)
          where e.id = r.effect_id and l.trouble = 'unknown'))
      order by r.action = 'cancel', r.id limit batch for update of r skip locked
  loop
    begin
      said := comanda.apply_request(q.id);
    exception
      when serialization_failure or deadlock_detected or lock_not_available then said := null;
      -- One that cannot be applied is answered so, and does not stop the sweep for everybody.
      when others then said := 'could not be applied: ' || sqlerrm;
    end;
    if said is not null then
      update comanda.effect_request r set answered_at = clock_timestamp(), answer = said where r.id = q.id;
      n := n + 1;
    end if;
  end loop;
  return n;
end
$fn$;

-- One request: the answer, or null when it must wait (the lane is leased or busy, or the effect is not at its turn).
create or replace function comanda.apply_request(request_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  q comanda.effect_request; e comanda.effect; last_state text; name text; l comanda.lane; head record; f bigint; verdict text;
begin
  select * into q from comanda.effect_request r where r.id = request_id;
  select * into e from comanda.effect x where x.id = q.effect_id;
  if e.id is null then
    return 'no such effect';
  end if;
  name := coalesce('k:' || e.ordering_key, 'e:' || e.id);
  select x.* into l from comanda.lane x where x.lane = name for update skip locked;
  if l.lane is null then
    if exists (select from comanda.lane x where x.lane = name) then
      return null;
    end if;
  elsif l.owner is not null and l.ready_at > clock_timestamp() then
    return null;
  end if;
  -- After the lock: what a settle has just written is seen.
  select o.state into last_state from comanda.outcome o where o.effect_id = e.id order by o.fence desc limit 1;
  select r.pos, r.effect_id, r.kind, r.target into head from comanda.effect_queue r where r.lane = l.lane order by r.pos limit 1;

  if q.action = 'cancel' then
    if last_state is not null then
      return case last_state when 'cancelled' then 'cancelled' else 'too late' end;
    end if;
    -- Parked or back-off head that no send can have reached: cancelled here. Everything else is decided by the owner at its turn.
    if head.effect_id is distinct from e.id or l.owner is not null or (head.pos <= l.suspect_to and head.pos is distinct from l.cleared_to) or l.trouble is not null then
      return null;
    end if;
    verdict := 'cancelled';
  elsif q.action = 'redrive' then
    if last_state is distinct from 'failed' then
      return coalesce('not a dead letter: ' || last_state, 'not a dead letter: it has not ended');
    end if;
    if head.effect_id = e.id and l.trouble = 'failed' then
      update comanda.lane x set ready_at = clock_timestamp(), parked_by = null, parked_at = null, fence = nextval('comanda.fence'::regclass), trouble = null, attempt = 0, lost = 0, looks = 0
        where x.lane = l.lane;
    elsif exists (select from comanda.effect_queue r where r.lane = name and r.effect_id = e.id) or exists (select from comanda.effect_arrival a where a.effect_id = e.id) then
      return 'on its way already';
    elsif e.ordering_key is not null
        and not pg_try_advisory_xact_lock(hashtextextended(e.ordering_key, 'comanda.effect_arrival'::regclass::oid::bigint)) then
      return null;  -- as a waiting effect: no place is drawn without the lane's lock
    else
      insert into comanda.effect_arrival (id, effect_id, lane, kind, target) values (nextval('comanda.lane_position'::regclass), e.id, name, e.kind, e.target);
    end if;
    return 'redriven';
  elsif q.action = 'skip' then
    if head.effect_id is distinct from e.id then
      return case when last_state is not null then 'not blocking: it has ended'
        when exists (select from comanda.waiting w where w.effect_id = e.id) then 'not blocking: it waits; cancel it' end;
    end if;
    if l.owner is not null then
      return null;  -- its lease ran out: whoever claims the lane finds out whether it was sent
    end if;
    if l.trouble is distinct from 'failed' then
      if l.trouble = 'unknown' or (head.pos <= l.suspect_to and head.pos is distinct from l.cleared_to) then
        return 'refused: its outcome is unknown; resolve it first';
      end if;
      verdict := 'cancelled';
    end if;
  elsif q.action = 'resolve' then
    if head.effect_id is distinct from e.id or l.trouble is distinct from 'unknown' then
      return case when last_state is not null then 'not unknown: it has ended ' || last_state when l.trouble is distinct from 'unknown' then 'not unknown' end;
    end if;
    if q.argument ->> 'as' = 'pending' then
      -- A named person says that it was not applied: the head is clean, as after a believed `absent`.
      insert into comanda.attempt (effect_id, fence, phase, attempt, owner, outcome, error_text)
        values (e.id, nextval('comanda.fence'::regclass), 'look', l.attempt, q.requested_by, 'absent', q.reason);
      update comanda.lane x set ready_at = clock_timestamp(), parked_by = null, parked_at = null, fence = nextval('comanda.fence'::regclass), trouble = null, looks = 0, lost = 0, owner = null,
          inflight_to = null, cleared_to = head.pos, attempt = 0 where x.lane = l.lane;
      return 'resolved as pending';
    end if;
    verdict := q.argument ->> 'as';
  else
    return 'no such action';
  end if;

  -- The head leaves the lane; what is behind it is due.
  f := nextval('comanda.fence'::regclass);
  if verdict is not null then
    insert into comanda.outcome (effect_id, fence, state, settled_by, reason, attempts, provider_id)
      values (e.id, f, verdict, coalesce(q.requested_by, 'request'), q.reason, l.attempt, q.argument ->> 'providerId');
  end if;
  delete from comanda.effect_queue r where r.lane = l.lane and r.pos = head.pos;
  select r.pos, r.effect_id, r.kind, r.target into head from comanda.effect_queue r where r.lane = l.lane order by r.pos limit 1;
  if head.pos is null then
    delete from comanda.lane x where x.lane = l.lane;
  else
    update comanda.lane x set kind = head.kind, target = head.target, ready_at = clock_timestamp(), parked_by = null, parked_at = null, fence = f, trouble = null, attempt = 0, lost = 0, looks = 0,
        owner = null, inflight_to = null, suspect_to = case when head.pos <= x.suspect_to then x.suspect_to end, cleared_to = null,
        first_at = case when head.pos <= x.suspect_to then x.first_at end where x.lane = l.lane;
  end if;
  return case q.action when 'skip' then 'skipped' when 'resolve' then 'resolved as ' || verdict else verdict end;
end
$fn$;

-- Takes effects back. Exact while an effect waits (delayed, held, cancel window); afterwards a request that the owner of its lane answers. Holds no row that a relay needs.
-- request: {key, name?, by?, reason?}; answer per effect: cancelled | requested | too late
create or replace function comanda.cancel(request jsonb) returns table (effect_id bigint, name text, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  e record; found_any boolean := false;
begin
  for e in select x.id, x.name from comanda.effect x join comanda.run r on r.id = x.run_id
      where r.key = request ->> 'key' and (request ->> 'name' is null or x.name = request ->> 'name') order by x.id loop
    found_any := true;
    delete from comanda.waiting w where w.effect_id = e.id;
    if found then
      insert into comanda.outcome (effect_id, fence, state, settled_by, reason, attempts)
        values (e.id, nextval('comanda.fence'::regclass), 'cancelled', coalesce(request ->> 'by', 'cancel'), request ->> 'reason', 0);
      return query select e.id, e.name, 'cancelled';
    elsif exists (select from comanda.outcome o where o.effect_id = e.id) then
      return query select e.id, e.name, case (select o.state from comanda.outcome o where o.effect_id = e.id order by o.fence desc limit 1) when 'cancelled' then 'cancelled' else 'too late' end;
    else
      insert into comanda.effect_request (effect_id, action, requested_by, reason) values (e.id, 'cancel', request ->> 'by', request ->> 'reason')
        on conflict (effect_id, action) where answered_at is null do nothing;
      return query select e.id, e.name, 'requested';
    end if;
  end loop;
  if not found_any then
    raise exception 'no effect "%" of decision "%"', coalesce(request ->> 'name', '*'), request ->> 'key' using errcode = 'CM007', hint = 'comanda effects list shows what there is.';
  end if;
end
$fn$;

-- Asks for an act on one effect by a named person: skip (let a blocked lane go on), redrive (try a dead letter again), resolve (say what became of an unknown outcome).
-- request: {effect, action, by, reason, as?: "completed" | "failed" | "pending", providerId?}. A relay's sweep applies it; until then it stands as requested.
create or replace function comanda.request(request jsonb) returns table (request_id bigint, effect_id bigint, action text, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  new_id bigint;
begin
  if coalesce(request ->> 'by', '') = '' or coalesce(request ->> 'reason', '') = '' then
    raise exception 'a request needs "by" (who) and "reason" (why)' using errcode = 'CM013';
  end if;
  if coalesce(request ->> 'action', '') not in ('skip', 'redrive', 'resolve')
      or (request ->> 'action' = 'resolve') <> (coalesce(request ->> 'as', '') in ('completed', 'failed', 'pending')) then
    raise exception 'action must be skip, redrive, or resolve with "as": completed, failed or pending' using errcode = 'CM009';
  end if;
  if coalesce(request ->> 'effect', '') !~ '^[0-9]{1,18}$' or octet_length(request ->> 'providerId') > 1024 or octet_length(request ->> 'by') > 512
      or octet_length(request ->> 'reason') > 4096 then
    raise exception 'a request needs "effect" (its number); "by" has at most 512 bytes, "reason" 4096, "providerId" 1024' using errcode = 'CM009';
  end if;
  if not exists (select from comanda.effect e where e.id = (request ->> 'effect')::bigint) then
    raise exception 'no effect %', request ->> 'effect' using errcode = 'CM007';
  end if;
  insert into comanda.effect_request (effect_id, action, argument, requested_by, reason)
    values ((request ->> 'effect')::bigint, request ->> 'action', request - array['effect', 'action', 'by', 'reason'], request ->> 'by', request ->> 'reason')
    on conflict (effect_id, action) where answered_at is null do nothing returning effect_request.id into new_id;
  insert into comanda.audit (actor, act, subject, reason, detail) values (request ->> 'by', 'request:' || (request ->> 'action'), 'effect:' || (request ->> 'effect'), request ->> 'reason',
    request - array['by', 'reason']);
  return query select r.id, r.effect_id, r.action, coalesce(r.answer, case when r.id = new_id then 'requested' else 'already requested by ' || r.requested_by end)
    from comanda.effect_request r
    where r.effect_id = (request ->> 'effect')::bigint and r.action = request ->> 'action' order by r.id desc limit 1;
end
$fn$;

-- Turns a scope on or off. request: {scope, mode: run | hold | drain | stop, by, reason, owner?, backup?}. Returns the new version; relays publish the version that they obey.
-- Scopes: all, kind:…, target:…, tenant:…, actor:human|agent|system, agent:….
create or replace function comanda.switch_set(request jsonb) returns table (scope text, mode text, version bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $fn$
#variable_conflict use_column
declare
  v bigint;
begin
  if coalesce(request ->> 'by', '') = '' or coalesce(request ->> 'reason', '') = '' then
    raise exception 'the switch needs "by" (who) and "reason" (why)' using errcode = 'CM013';
  end if;
  if coalesce(request ->> 'mode', '') not in ('run', 'hold', 'drain', 'stop') or coalesce(request ->> 'scope', '') !~ '^(all|(kind|target|tenant|agent):.+|actor:(human|agent|system))$' or octet_length(request ->> 'scope') > 600 then
    raise exception 'scope must be all, kind:…, target:…, tenant:…, agent:… or actor:human|agent|system, and mode run, hold, drain or stop (given: "%", "%")',
      request ->> 'scope', request ->> 'mode' using errcode = 'CM011';
  end if;
  insert into comanda.switch as s (scope, mode, reason, owner_name, backup_name, set_by)
    values (request ->> 'scope', request ->> 'mode', request ->> 'reason', request ->> 'owner', request ->> 'backup', request ->> 'by')
    on conflict (scope) do update set mode = excluded.mode, reason = excluded.reason, owner_name = coalesce(excluded.owner_name, s.owner_name),
      backup_name = coalesce(excluded.backup_name, s.backup_name), set_by = excluded.set_by, set_at = clock_timestamp(), version = nextval('comanda.switch_version'::regclass)
    returning s.version into v;
  insert into comanda.audit (actor, act, subject, reason, detail) values (request ->> 'by', 'switch', request ->> 'scope', request ->> 'reason', jsonb_build_object('mode', request ->> 'mode', 'version', v));
  perform pg_notify('comanda_' || 'comanda.effect_arrival'::regclass::oid::bigint, '');
  return query select request ->> 'scope', request ->> 'mode', v;
end
$fn$;

-- Until when some relay polls anyway (milliseconds from now; 0 = it sleeps, -1 = always: decisions never notify). A sequence: seen at once, by every snapshot, also behind poolers.
create or replace function comanda.set_awake(for_ms float8) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $fn$
  select setval('comanda.awake'::regclass, case when for_ms < 0 then 9223372036854775807 when for_ms = 0 then 1
    else (extract(epoch from clock_timestamp()) * 1000 + for_ms)::bigint end)
$fn$;

-- The channel on which decisions of this installation notify. The notification carries nothing: it is a hint, polling is the truth.
create or replace function comanda.wake_channel() returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
as $fn$ select 'comanda_' || 'comanda.effect_arrival'::regclass::oid::bigint $fn$;

-- One row per effect with the state it is in now, in the product's own words. A sending effect whose lease ran out is sending until somebody takes its lane over: it may have been sent.
create or replace view comanda.effect_state as
select e.id as effect_id, r.key as run_key, r.id as run_id, r.subject, e.name, e.kind, e.kind_version, e.target, e.ordering_key, e.subject_version,
    coalesce(e.explicit_key, r.key || '/' || e.name) as idempotency_key,
    case
      when w.effect_id is not null then 'waiting'
      when a.effect_id is not null then 'pending'
      when q.head and l.trouble is not null then l.trouble
      when q.effect_id is not null and l.owner is not null and q.pos <= l.inflight_to then 'sending'
      when q.effect_id is not null then 'pending'
      else coalesce(o.state, 'pending') end as state,
    w.reason as waits_for,
    case when w.effect_id is not null then w.next_at when q.head and l.parked_by is null then l.ready_at end as next_at,
    case when q.effect_id is null then o.attempts when q.head then l.attempt else 0 end as attempts,
    case when q.effect_id is not null and not q.head then 'behind effect ' || h.effect_id when q.head then l.parked_by end as blocked_by,
    l.parked_at, l.owner as relay, l.fence, o.state as ended_as, o.settled_at as ended_at, o.settled_by as ended_by, o.reason as ended_reason, o.provider_id, e.created_at
  from comanda.effect e
  join comanda.run r on r.id = e.run_id
  left join comanda.waiting w on w.effect_id = e.id
  left join comanda.effect_arrival a on a.effect_id = e.id
  left join comanda.lane l on l.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id)
  left join lateral (select x.effect_id, x.pos from comanda.effect_queue x where x.lane = l.lane order by x.pos limit 1) h on true
  left join lateral (select x.effect_id, x.pos, x.pos = h.pos as head from comanda.effect_queue x where x.lane = l.lane and x.effect_id = e.id limit 1) q on true
  -- A redriven effect has not ended, whatever its older outcome says.
  left join lateral (select x.* from comanda.outcome x where x.effect_id = e.id and a.effect_id is null and (q.effect_id is null or (q.head and l.trouble = 'failed'))
    order by x.fence desc limit 1) o on true;

-- The outbox as the pattern is usually drawn: one row per effect, with a status column. Held, unknown and cancelled never read as pending. Read-only: writes name the function to call.
create or replace view comanda.outbox as
select s.effect_id as id, substr(s.subject, strpos(s.subject, ':') + 1) as aggregate_id, s.kind as effect_type, e.payload::jsonb as payload, s.idempotency_key,
    case s.state when 'sending' then 'processing' when 'completed' then 'done' when 'waiting' then case s.waits_for when 'held' then 'held' else 'delayed' end else s.state end as status,
    coalesce(s.attempts, 0) as attempts,
    (select a.error_text from comanda.attempt a where a.effect_id = s.effect_id and a.phase = 'end' and a.outcome <> 'completed' order by a.at desc limit 1) as last_error,
    s.created_at, s.ended_at as processed_at, s.state, s.subject, s.run_key, s.name, s.target, s.ordering_key, s.provider_id
  from comanda.effect_state s join comanda.effect e on e.id = s.effect_id;

create or replace function comanda.refuse_view_write() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $fn$
begin
  raise exception 'the view % cannot be written', tg_table_name using errcode = 'CM008',
    hint = case tg_table_name when 'outbox' then 'Use decide(jsonb) to add an effect, cancel(jsonb) to take one back, request(jsonb) to skip, redrive or resolve one.'
      else 'Use decide(jsonb) to record a decision.' end;
end
$fn$;
-- For each row, so that the view counts as one that can be written at all; for each statement, so that a write that meets no row is refused too.
create or replace trigger read_only instead of insert or update or delete on comanda.outbox for each row execute function comanda.refuse_view_write();
create or replace trigger refused before insert or update or delete on comanda.outbox for each statement execute function comanda.refuse_view_write();

-- The ledger as the pattern is usually drawn: one row per decision with status pending, done or failed beside our own states. A plain decision is as far as its effects are;
-- one with an unknown or held effect says so instead of pending.
create or replace view comanda.run_ledger as
select r.id, r.key as idempotency_key, substr(r.subject, strpos(r.subject, ':') + 1) as order_id,
    case when d.state in ('decided', 'approved') then coalesce(d.stands, 'pending') when d.state = 'completed' then 'done' when d.state = 'processing' then 'pending'
      when d.state in ('failed_retryable', 'failed_terminal') then 'failed' else d.state end as status,
    case when r.result is not null then r.result::jsonb end as result, r.created_at, greatest(r.updated_at, d.last_at) as updated_at,
    d.state, r.subject, r.kind, r.actor_type, r.actor_id, r.tenant, r.reason, d.effects, d.open_effects
  from comanda.run r
  cross join lateral (
    select count(*)::int as effects, count(*) filter (where s.state not in ('completed', 'cancelled', 'failed'))::int as open_effects, max(s.ended_at) as last_at,
        case when bool_or(s.state = 'unknown') then 'unknown' when bool_or(s.waits_for = 'held') then 'held' end as stands,
        case when r.state not in ('decided', 'approved') then r.state
          when count(*) filter (where s.state not in ('completed', 'cancelled', 'failed')) > 0 then r.state
          when count(*) filter (where s.state = 'failed') > 0 then 'failed_terminal'
          when count(*) > 0 and count(*) = count(*) filter (where s.state = 'cancelled') then 'cancelled'
          else 'completed' end as state
      from comanda.effect_state s where s.run_id = r.id) d;
create or replace trigger read_only instead of insert or update or delete on comanda.run_ledger for each row execute function comanda.refuse_view_write();
create or replace trigger refused before insert or update or delete on comanda.run_ledger for each statement execute function comanda.refuse_view_write();

-- Structural holes: unfinished work that nothing will ever look at again. Empty at all times (P2). One statement over one snapshot. Overdue work is `attention`, not this.
create or replace view comanda.unattended as
select 'effect is nowhere' as what, e.id as effect_id, e.id::text as thing from comanda.effect e
  where not exists (select from comanda.outcome o where o.effect_id = e.id) and not exists (select from comanda.effect_arrival t where t.effect_id = e.id)
    and not exists (select from comanda.effect_queue r where r.effect_id = e.id) and not exists (select from comanda.waiting w where w.effect_id = e.id)
union all select 'queued without a lane', r.effect_id, r.lane from comanda.effect_queue r where not exists (select from comanda.lane l where l.lane = r.lane)
union all select 'lane without effects', null, l.lane from comanda.lane l where not exists (select from comanda.effect_queue r where r.lane = l.lane)
union all select 'lane differs from its head', h.effect_id, l.lane from comanda.lane l
  cross join lateral (select r.kind, r.target, r.effect_id from comanda.effect_queue r where r.lane = l.lane order by r.pos limit 1) h where (h.kind, h.target) <> (l.kind, l.target)
union all select 'parked without a live reason', null, l.lane from comanda.lane l
  where l.parked_by is not null and l.trouble is null and l.parked_by !~ '^switch:'
union all select 'held without an approval or prerequisite', w.effect_id, w.effect_id::text from comanda.waiting w
  where w.reason = 'held' and not exists (select from comanda.approval a where a.id = w.approval_id and a.state in ('open', 'approved'))
    and not exists (select from comanda.effect p where p.id = w.prerequisite_id and not exists (select from comanda.outcome o where o.effect_id = p.id))
union all select 'run without lease', null, r.key from comanda.run r where r.state = 'processing' and r.lease_owner is null
union all select 'run awaits a human without an open approval', null, r.key from comanda.run r
  where r.state = 'awaiting_human' and not exists (select from comanda.approval a where a.run_id = r.id and a.state = 'open')
union all select 'run to be retried without a next moment', null, r.key from comanda.run r where r.state = 'failed_retryable' and r.next_at is null
union all select 'request that nobody will answer', q.effect_id, q.action from comanda.effect_request q
  where q.answered_at is null and q.requested_at < clock_timestamp() - interval '1 minute' and q.action = 'cancel'
    and exists (select from comanda.outcome o where o.effect_id = q.effect_id)
    and exists (select from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds');

-- Everything that waits for a person, or should have moved by itself and did not: since when, and what to do.
create or replace view comanda.attention as
select 'blocked lane' as what, h.effect_id, r.key as run_key, l.kind, l.target, l.lane, l.parked_by as reason, l.parked_at as since,
    'dead letter at the head of its lane: redrive it, or skip it so that what is behind it goes on' as what_to_do
  from comanda.lane l
  cross join lateral (select q.effect_id from comanda.effect_queue q where q.lane = l.lane order by q.pos limit 1) h
  join comanda.effect e on e.id = h.effect_id join comanda.run r on r.id = e.run_id
  where l.parked_by is not null and l.trouble = 'failed'
union all
select 'unknown outcome', h.effect_id, r.key, l.kind, l.target, l.lane, l.parked_by, l.parked_at,
    'it may have happened: look at the provider, then resolve it as completed, failed or pending'
  from comanda.lane l
  cross join lateral (select q.effect_id from comanda.effect_queue q where q.lane = l.lane order by q.pos limit 1) h
  join comanda.effect e on e.id = h.effect_id join comanda.run r on r.id = e.run_id
  where l.parked_by is not null and l.trouble = 'unknown'
union all
select 'dead letter', o.effect_id, r.key, e.kind, e.target, null, o.reason, o.settled_at, 'it can never succeed as it is: redrive it after repairing the cause, or decide a correction under a new key'
  from comanda.outcome o join comanda.effect e on e.id = o.effect_id join comanda.run r on r.id = e.run_id
  where o.state = 'failed' and e.ordering_key is null
    and not exists (select from comanda.outcome n where n.effect_id = o.effect_id and n.fence > o.fence)
    and not exists (select from comanda.lane l where l.lane = 'e:' || o.effect_id) and not exists (select from comanda.effect_arrival a where a.effect_id = o.effect_id)
union all
select 'switched off', null, null, null, null, null, s.scope || ' is ' || s.mode || coalesce(': ' || s.reason, ''), s.set_at, 'turn it on again when the reason is gone: comanda switch run ' || s.scope
  from comanda.switch s where s.mode <> 'run'
union all
select 'switch is missing', null, null, null, null, null, 'there is no row for the scope all, so nothing is claimed and nothing is sent', null, 'set it: comanda switch run all'
  where not exists (select from comanda.switch s where s.scope = 'all')
union all
select 'not getting through', h.effect_id, r.key, l.kind, l.target, l.lane, 'tried again and again since its first claim', l.first_at,
    'look at its attempts: comanda explain; repair the target or its credentials, or stop the target with the switch'
  from comanda.lane l
  cross join lateral (select q.effect_id from comanda.effect_queue q where q.lane = l.lane order by q.pos limit 1) h
  join comanda.effect e on e.id = h.effect_id join comanda.run r on r.id = e.run_id
  where l.first_at < clock_timestamp() - interval '1 hour' and l.parked_by is null
union all
select 'no relay for this kind', null, null, l.kind, min(l.target), null, count(*) || ' lanes wait and no live relay can execute this kind', min(l.ready_at), 'deploy a relay that knows this kind; nothing is lost meanwhile'
  from comanda.lane l
  where l.parked_by is null and l.ready_at < clock_timestamp() - interval '10 seconds'
    and not exists (select from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds' and l.kind = any (b.kinds))
  group by l.kind
union all
select 'no relay at all', null, null, null, null, null, count(*) || ' effects have arrived or are due and no relay is live', min(d.since), 'start a relay: comanda relay'
  from (select a.arrived_at as since from comanda.effect_arrival a union all select w.next_at from comanda.waiting w where w.reason <> 'held' and w.next_at < clock_timestamp()) d
  where not exists (select from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds')
  having min(d.since) < clock_timestamp() - interval '10 seconds'
union all
select 'notification queue', null, null, null, null, null, round(pg_notification_queue_usage()::numeric * 100) || ' % of the notification queue is used', null,
    'a session listens and stays in an open transaction: end it'
  where pg_notification_queue_usage() > 0.5;

-- Numbers to watch: name, label, value. Cheap: they cost as much as what is unfinished, not as what has ever been.
create or replace view comanda.gauges as
select 'effects_arrived' as name, '' as label, count(*)::float8 as value from comanda.effect_arrival
union all select 'effects_queued', '', count(*) from comanda.effect_queue
union all select 'effects_waiting', w.reason, count(*) from comanda.waiting w group by w.reason
union all select 'lanes_leased', '', count(*) from comanda.lane l where l.owner is not null and l.ready_at > clock_timestamp()
union all select 'lanes_lease_expired', '', count(*) from comanda.lane l where l.owner is not null and l.ready_at <= clock_timestamp()
union all select 'lanes_due', l.kind, count(*) from comanda.lane l where l.owner is null and l.ready_at <= clock_timestamp() group by l.kind
union all select 'lanes_backing_off', l.kind, count(*) from comanda.lane l where l.owner is null and l.ready_at > clock_timestamp() and l.parked_by is null group by l.kind
union all select 'lanes_parked', split_part(l.parked_by, ':', 1), count(*) from comanda.lane l where l.parked_by is not null group by 2
union all select 'effects_unknown', l.kind, count(*) from comanda.lane l where l.trouble = 'unknown' group by l.kind
union all select 'oldest_arrival_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(a.arrived_at)) * 1000, 0) from comanda.effect_arrival a
union all select 'oldest_due_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.ready_at)) * 1000, 0) from comanda.lane l where l.owner is null and l.ready_at <= clock_timestamp()
union all select 'oldest_sending_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.first_at)) * 1000, 0) from comanda.lane l where l.owner is not null
union all select 'oldest_expired_lease_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.ready_at)) * 1000, 0) from comanda.lane l where l.owner is not null and l.ready_at <= clock_timestamp()
union all select 'requests_open', q.action, count(*) from comanda.effect_request q where q.answered_at is null group by q.action
union all select 'relays_live', '', count(*) from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds'
union all select 'notification_queue_usage', '', pg_notification_queue_usage()
union all select 'switch_version', '', max(s.version) from comanda.switch s;

-- What each thing here is for, as the question that it answers: \d+, \df+ and docs/reference/sql.md show these texts. A test fails when one is missing.
-- In the texts, objects are named without their schema: the schema can have another name.

comment on schema comanda is 'Decisions and the external effects they imply: recorded in one transaction, executed apart. Where is the order ticket, and who works on it?';

comment on sequence comanda.effect_id is 'Which number does the next effect get?';
comment on sequence comanda.fence is 'Which number does the next claim get? It only grows: a holder with a lower number is late. Cache 1, or holders would be ordered wrongly.';
comment on sequence comanda.lane_position is 'Which place does the next arrival get? Drawn at COMMIT under the lock of its lane. Cache 1, or effects would be ordered wrongly.';
comment on sequence comanda.switch_version is 'Which version does the next turn of a switch get?';
comment on sequence comanda.awake is 'Until when (milliseconds since 1970) does some relay look anyway, so that a decision need not notify?';

comment on table comanda.installation is 'What is installed here, for which environment, and is this the database that was adopted? One row.';
comment on column comanda.installation.singleton is 'Why is there only one row? Because this column can only be true.';
comment on column comanda.installation.schema_version is 'Which migrations have run?';
comment on column comanda.installation.compatible_from is 'How old may a program be that works on this schema?';
comment on column comanda.installation.routines_sha256 is 'Which build wrote the functions, views and rights that are here now?';
comment on column comanda.installation.environment is 'Is this production, staging, somebody''s laptop?';
comment on column comanda.installation.system_identifier is 'Which server was this database installed on? Part of the fingerprint that tells a copy.';
comment on column comanda.installation.database_oid is 'Which database of that server was it? Part of the fingerprint that tells a copy.';
comment on column comanda.installation.timeline is 'Which timeline was the server on? A change means a failover or a restore to a point in time.';
comment on column comanda.installation.endpoint is 'Under which host, port and name do the relays reach this database?';
comment on column comanda.installation.adopted_by is 'Who said that this database is the real one?';
comment on column comanda.installation.adopted_at is 'When did that person say so?';
comment on column comanda.installation.payload_max_bytes is 'How large may one payload be, in bytes as stored?';
comment on column comanda.installation.installed_at is 'Since when is this installed?';
comment on column comanda.installation.migrated_at is 'When was it last changed by a migration?';

comment on table comanda.run is 'The ledger: what was decided, on whose behalf, and how far is it? One row per key, kept long after its effects have ended.';
comment on column comanda.run.id is 'By which number do other tables name this decision?';
comment on column comanda.run.key is 'Which business event is this? The same key is the same decision, for ever.';
comment on column comanda.run.subject is 'What is it about, e.g. order:ORD-2041? Empty when nobody said.';
comment on column comanda.run.kind is 'What sort of decision is it, in the caller''s words?';
comment on column comanda.run.actor_type is 'Was it a human, an agent or a system that decided? Null when nobody declared it.';
comment on column comanda.run.actor_id is 'Who decided, as the caller names them?';
comment on column comanda.run.on_behalf_of is 'On whose behalf did the actor act? A chain of actors.';
comment on column comanda.run.by_agent is 'Is an agent or a model anywhere in the chain, so that the switch for AI actions stops it?';
comment on column comanda.run.tenant is 'Whose decision is it, in a database that serves several customers?';
comment on column comanda.run.reason is 'Why was it decided, in one sentence for people?';
comment on column comanda.run.trigger_origin is 'What set it off: which webhook, workflow, schedule?';
comment on column comanda.run.workflow_version is 'Which version or commit of the workflow decided?';
comment on column comanda.run.endpoint_class is 'Where did the model run: hosted, private, on the machine?';
comment on column comanda.run.model is 'Which model proposed it?';
comment on column comanda.run.model_revision is 'Which revision of that model?';
comment on column comanda.run.validation is 'What did the validation of the model''s output say?';
comment on column comanda.run.repairs is 'How often was the output repaired before it was valid?';
comment on column comanda.run.output is 'What of the output is kept, or where is it? Minimised, never a reasoning trace.';
comment on column comanda.run.input_hash is 'Was a claimed run asked to do the same work again, or other work under the same key?';
comment on column comanda.run.effects_hash is 'Does a repetition say the same? SHA-256 of the subject and the content of its effects as stored; not of actor, reason, target or times.';
comment on column comanda.run.state is 'How far is it? A plain decision stays decided here: the view run_ledger derives the rest from its effects.';
comment on column comanda.run.version is 'Has somebody else changed this row since I read it?';
comment on column comanda.run.lease_owner is 'Who is processing it now? Set exactly while the state is processing.';
comment on column comanda.run.lease_expires_at is 'Until when is that believed without a word from them?';
comment on column comanda.run.fence is 'Which claim of this run is the latest?';
comment on column comanda.run.result is 'What did it come to? JSON, returned to everyone who asks with the same key.';
comment on column comanda.run.failure_class is 'What sort of failure was it, for the retry policy?';
comment on column comanda.run.attempts is 'How often was it claimed?';
comment on column comanda.run.next_at is 'When will a failed but retryable run be looked at again?';
comment on column comanda.run.supersedes is 'Which earlier decision does this one correct?';
comment on column comanda.run.superseded_by is 'Which later decision corrected this one?';
comment on column comanda.run.created_at is 'When was it recorded?';
comment on column comanda.run.updated_at is 'When did this row last change?';
comment on column comanda.run.finished_at is 'When did it reach its end?';

comment on table comanda.effect is 'The outbox: what is to happen outside because of a decision? Written once, never changed.';
comment on column comanda.effect.id is 'By which number do people and other tables name this effect?';
comment on column comanda.effect.run_id is 'Which decision implies it?';
comment on column comanda.effect.name is 'Which of the decision''s effects is it? The kind, unless there are several of one kind.';
comment on column comanda.effect.kind is 'What sort of act is it, e.g. issue_refund? Relays execute the kinds they know.';
comment on column comanda.effect.kind_version is 'For which version of the kind was the payload written?';
comment on column comanda.effect.target is 'Which destination receives it? Breaker, pause, limits and switch are per target.';
comment on column comanda.effect.payload is 'What exactly is sent? JSON as jsonb prints it, stored and sent byte for byte.';
comment on column comanda.effect.headers is 'What travels beside the payload, the trace context among it? A JSON object of strings.';
comment on column comanda.effect.explicit_key is 'Which idempotency key did the caller choose? Null: the decision''s key, a slash and the name.';
comment on column comanda.effect.ordering_key is 'With which other effects does it keep its order? Null: with none.';
comment on column comanda.effect.subject_version is 'For which version of its subject was it decided, so that a target can refuse an older one?';
comment on column comanda.effect.waits is 'Was it born waiting, and why: delayed, held or window? It never changes; the table waiting says whether it still waits.';
comment on column comanda.effect.created_at is 'When was it decided?';

comment on table comanda.effect_key is 'Is this explicit idempotency key taken? One row per key that a caller chose.';
comment on column comanda.effect_key.key is 'Which key?';
comment on column comanda.effect_key.effect_id is 'Which effect has it, for ever?';

comment on table comanda.waiting is 'Which effects may not run yet, why, and when does somebody look again? Here, and only here, is a cancellation exact.';
comment on column comanda.waiting.effect_id is 'Which effect waits?';
comment on column comanda.waiting.reason is 'For what: a time (delayed), a person or another effect (held), or the end of its cancel window (window)?';
comment on column comanda.waiting.approval_id is 'For which approval?';
comment on column comanda.waiting.prerequisite_id is 'For the end of which other effect?';
comment on column comanda.waiting.next_at is 'When is it looked at next? Never without a moment.';
comment on column comanda.waiting.lane is 'In which lane will it take its place when it is released?';
comment on column comanda.waiting.kind is 'What sort of act is it?';
comment on column comanda.waiting.target is 'Which destination will receive it?';

comment on table comanda.effect_arrival is 'What has been committed and not yet put on a lane? In commit order within each ordering key.';
comment on column comanda.effect_arrival.id is 'Which place does it take in its lane?';
comment on column comanda.effect_arrival.effect_id is 'Which effect arrived?';
comment on column comanda.effect_arrival.lane is 'Which lane does it go to: k: and the ordering key, or e: and its own number?';
comment on column comanda.effect_arrival.kind is 'What sort of act is it?';
comment on column comanda.effect_arrival.target is 'Which destination will receive it?';
comment on column comanda.effect_arrival.arrived_at is 'Since when does it wait for a router?';

comment on table comanda.effect_queue is 'Which unfinished effects are on each lane, in which order?';
comment on column comanda.effect_queue.lane is 'On which lane?';
comment on column comanda.effect_queue.pos is 'In which place? The lowest of a lane is its head.';
comment on column comanda.effect_queue.effect_id is 'Which effect?';
comment on column comanda.effect_queue.kind is 'What sort of act is it?';
comment on column comanda.effect_queue.target is 'Which destination will receive it?';

comment on table comanda.lane is 'Who works on each lane, until when, and what may already have happened to its head? One row while the lane has effects.';
comment on column comanda.lane.lane is 'Which lane: k: and an ordering key, or e: and the number of an effect without one?';
comment on column comanda.lane.kind is 'What sort of act is the head, so that a relay that knows it can claim the lane?';
comment on column comanda.lane.target is 'Which destination does the head go to?';
comment on column comanda.lane.ready_at is 'When may the lane be claimed? Due time, back-off and end of the lease in one; infinity while parked.';
comment on column comanda.lane.fence is 'Who may settle the head now? Only the holder of this number, which grows with each claim and each act on the lane.';
comment on column comanda.lane.owner is 'Which relay holds, or last held, the lease? Set on a due lane, it says that the lease ran out.';
comment on column comanda.lane.attempt is 'How often has the head been claimed? Counted at the claim, given back on a clean release.';
comment on column comanda.lane.inflight_to is 'Up to which place may the present holder have sent?';
comment on column comanda.lane.suspect_to is 'Up to which place may an earlier attempt have been applied?';
comment on column comanda.lane.cleared_to is 'Which head was looked up and found not applied, so that it is no suspect?';
comment on column comanda.lane.first_at is 'Since when may the provider know the head''s key? The first claim of what is still open: the lifetime of the key counts from here.';
comment on column comanda.lane.trouble is 'Is the head''s outcome unknown, or has it failed and blocks the lane?';
comment on column comanda.lane.looks is 'How often has the provider been asked about the head in vain?';
comment on column comanda.lane.lost is 'How many processes ended while they may have been executing the head?';
comment on column comanda.lane.parked_by is 'What must change before the lane goes on: switch: and a scope, or what a person has to settle?';
comment on column comanda.lane.parked_at is 'Since when is it parked?';

comment on table comanda.effect_request is 'What have callers and people asked for that a relay has to apply, and what came of it?';
comment on column comanda.effect_request.id is 'By which number is the request named?';
comment on column comanda.effect_request.effect_id is 'For which effect?';
comment on column comanda.effect_request.action is 'What is asked for: cancel, skip, release, redrive, resolve?';
comment on column comanda.effect_request.argument is 'With which details, e.g. resolved as what?';
comment on column comanda.effect_request.requested_by is 'Who asked?';
comment on column comanda.effect_request.reason is 'Why?';
comment on column comanda.effect_request.requested_at is 'When?';
comment on column comanda.effect_request.answered_at is 'When was it answered? Null while it is open.';
comment on column comanda.effect_request.answer is 'What was done, or why was it refused?';

comment on table comanda.attempt is 'What was tried, by whom, and what did the provider say? Rows are only added: a start before the bytes leave, an end, late answers, look-ups.';
comment on column comanda.attempt.effect_id is 'Which effect was tried?';
comment on column comanda.attempt.fence is 'Under which claim?';
comment on column comanda.attempt.phase is 'Is this the start, the end, a late answer, or a look-up?';
comment on column comanda.attempt.at is 'When, by the database''s clock?';
comment on column comanda.attempt.attempt is 'Which try of the effect was it, from 1?';
comment on column comanda.attempt.owner is 'Which relay, or which person, says so?';
comment on column comanda.attempt.outcome is 'What came of it? Null for a start.';
comment on column comanda.attempt.provider_id is 'How does the provider name what it did?';
comment on column comanda.attempt.status is 'Which status did the protocol give, e.g. 503?';
comment on column comanda.attempt.error_class is 'What sort of error was it, e.g. ECONNREFUSED?';
comment on column comanda.attempt.error_text is 'What did the error say, redacted?';
comment on column comanda.attempt.response is 'What did the provider answer, redacted and cut?';
comment on column comanda.attempt.duration_ms is 'How long did it take?';

comment on table comanda.outcome is 'How did each effect end, who says so, and on what evidence? The row with the highest fence counts.';
comment on column comanda.outcome.effect_id is 'Which effect ended?';
comment on column comanda.outcome.fence is 'Under which claim or act was it written?';
comment on column comanda.outcome.state is 'Did it complete, fail, or was it cancelled?';
comment on column comanda.outcome.settled_by is 'Which relay or person wrote it?';
comment on column comanda.outcome.reason is 'Why did it end so?';
comment on column comanda.outcome.attempts is 'After how many tries?';
comment on column comanda.outcome.provider_id is 'How does the provider name what it did?';
comment on column comanda.outcome.maybe_applied is 'May it have happened all the same?';
comment on column comanda.outcome.settled_at is 'When?';

comment on table comanda.effect_kind is 'What is each kind of effect: how risky, where does it go, how does its target recognise a repetition? Published by deployments.';
comment on column comanda.effect_kind.kind is 'Which kind?';
comment on column comanda.effect_kind.version is 'Which version of it?';
comment on column comanda.effect_kind.target is 'Which destination receives it, whatever a caller says?';
comment on column comanda.effect_kind.risk is 'Can it be taken back?';
comment on column comanda.effect_kind.idempotency is 'How does the target recognise a repetition: by a key, by nature, or not at all?';
comment on column comanda.effect_kind.on_unknown is 'What is done when nobody knows whether it happened: look it up, or ask a person?';
comment on column comanda.effect_kind.contract is 'What else was agreed with the target: where the key travels, how long it is remembered?';
comment on column comanda.effect_kind.amount_pointer is 'Where in the payload is the amount that policies judge? A JSON pointer.';
comment on column comanda.effect_kind.redaction is 'Which values of the payload are masked in stored evidence? Dotted paths.';
comment on column comanda.effect_kind.input_schema is 'What must a payload look like? JSON Schema.';
comment on column comanda.effect_kind.max_attempts is 'How often is it tried?';
comment on column comanda.effect_kind.timeout_ms is 'How long may one try take?';
comment on column comanda.effect_kind.published_by is 'Which process published this?';
comment on column comanda.effect_kind.published_at is 'When did it last change?';

comment on table comanda.policy is 'Which rule decides whether an effect needs a person? Versions are kept, so that an old decision can be explained.';
comment on column comanda.policy.name is 'Which policy?';
comment on column comanda.policy.version is 'Which version of it?';
comment on column comanda.policy.rules is 'What does it say?';
comment on column comanda.policy.published_by is 'Who published it?';
comment on column comanda.policy.published_at is 'When?';

comment on table comanda.target is 'Can this destination take work now, and how much of it? Only targets with a breaker, a pause or a limit have a row.';
comment on column comanda.target.target is 'Which destination?';
comment on column comanda.target.breaker is 'Is its breaker closed (work flows), open (none does) or half open (one probe does)?';
comment on column comanda.target.breaker_reason is 'Why is the breaker open?';
comment on column comanda.target.breaker_until is 'When is the next probe allowed?';
comment on column comanda.target.paused_until is 'Until when did the target, or a person, ask for patience?';
comment on column comanda.target.pause_reason is 'Why is it paused?';
comment on column comanda.target.rate_per_second is 'How many effects a second may all relays send to it together?';
comment on column comanda.target.concurrency is 'How many at the same time?';
comment on column comanda.target.shares is 'Which relay holds which part of these limits, until when?';
comment on column comanda.target.updated_at is 'When did this row last change?';

comment on table comanda.aggregate is 'Which version did each aggregate reach? Its row lock is what numbers events without a gap.';
comment on column comanda.aggregate.aggregate_type is 'Which sort of thing, e.g. order?';
comment on column comanda.aggregate.aggregate_id is 'Which one of them?';
comment on column comanda.aggregate.version is 'Which version did its last event have?';
comment on column comanda.aggregate.updated_at is 'When was that?';

comment on table comanda.event is 'Which facts are there to publish? Never an effect: replaying them changes nothing outside.';
comment on column comanda.event.id is 'By which identifier does every consumer know this event, each time it is delivered?';
comment on column comanda.event.position is 'Which place has it in the feed? Null until it is stamped, then without gaps.';
comment on column comanda.event.run_id is 'Which decision told it?';
comment on column comanda.event.aggregatetype is 'Which sort of thing is it about? Named as Debezium''s outbox router expects.';
comment on column comanda.event.aggregateid is 'Which one of them? Named as Debezium''s outbox router expects.';
comment on column comanda.event.version is 'Which version of the aggregate does it make?';
comment on column comanda.event.type is 'What happened?';
comment on column comanda.event.schema_version is 'In which shape is the payload?';
comment on column comanda.event.payload is 'What are the details? JSON, published byte for byte.';
comment on column comanda.event.headers is 'What travels beside the payload, the trace context among it?';
comment on column comanda.event.created_at is 'When was it told?';

comment on table comanda.event_arrival is 'Which events are committed and not yet stamped with a place in the feed?';
comment on column comanda.event_arrival.id is 'In which order did they commit?';
comment on column comanda.event_arrival.event_id is 'Which event?';
comment on column comanda.event_arrival.event_created_at is 'In which partition is it?';
comment on column comanda.event_arrival.aggregate is 'What is it about?';

comment on table comanda.feed is 'Which place in the feed was given last? One row; the stamper locks it.';
comment on column comanda.feed.singleton is 'Why is there only one row? Because this column can only be true.';
comment on column comanda.feed.position is 'Which place was given last?';

comment on table comanda.approval is 'What is a person asked to approve, by when, and what came of it? Bound to exactly these bytes.';
comment on column comanda.approval.id is 'By which number is the request named?';
comment on column comanda.approval.run_id is 'Which decision waits for it?';
comment on column comanda.approval.effects_hash is 'Which effects exactly are approved? Others are not.';
comment on column comanda.approval.mode is 'Does it run after a yes, after a window without a no, or by a policy with exceptions?';
comment on column comanda.approval.policy_name is 'Which policy asked for a person?';
comment on column comanda.approval.policy_version is 'Which version of that policy?';
comment on column comanda.approval.requester is 'Who asks, and so may not answer?';
comment on column comanda.approval.audience is 'Who may answer?';
comment on column comanda.approval.quorum is 'How many must say yes?';
comment on column comanda.approval.state is 'Is it open, approved, rejected, expired or cancelled?';
comment on column comanda.approval.created_at is 'When was it asked?';
comment on column comanda.approval.expires_at is 'When does silence become expired? Silence never approves.';
comment on column comanda.approval.decided_at is 'When was it decided? Null while it is open.';

comment on table comanda.approval_vote is 'Who said what about an approval? One vote per person.';
comment on column comanda.approval_vote.approval_id is 'About which approval?';
comment on column comanda.approval_vote.voter is 'Who?';
comment on column comanda.approval_vote.decision is 'Yes or no?';
comment on column comanda.approval_vote.assurance is 'How surely do we know that it was them?';
comment on column comanda.approval_vote.comment is 'What did they add?';
comment on column comanda.approval_vote.voted_at is 'When?';

comment on table comanda.approval_token is 'Which links to an approval are out there? Only the hash of each token is stored.';
comment on column comanda.approval_token.token_sha256 is 'Which token? SHA-256 of it: who reads this table cannot use it.';
comment on column comanda.approval_token.approval_id is 'For which approval?';
comment on column comanda.approval_token.audience is 'For whom was it made?';
comment on column comanda.approval_token.allowed is 'What may be done with it?';
comment on column comanda.approval_token.created_at is 'When was it made?';
comment on column comanda.approval_token.expires_at is 'Until when does it work?';
comment on column comanda.approval_token.consumed_at is 'When was it used? It works once.';
comment on column comanda.approval_token.consumed_by is 'Who used it?';
comment on column comanda.approval_token.decision is 'What did they choose?';

comment on table comanda.switch is 'What may act now? A scope without a row is on; without the row for all, nothing acts.';
comment on column comanda.switch.scope is 'What is switched: all, kind:, target:, tenant:, actor: or agent: and a name?';
comment on column comanda.switch.mode is 'Does it run, drain (only what is claimed is still sent), or hold or stop (nothing is sent)?';
comment on column comanda.switch.reason is 'Why?';
comment on column comanda.switch.owner_name is 'Who is responsible for turning it?';
comment on column comanda.switch.backup_name is 'Who, when that person cannot be reached?';
comment on column comanda.switch.set_by is 'Who turned it last?';
comment on column comanda.switch.set_at is 'When?';
comment on column comanda.switch.version is 'Which turn was it? A relay that obeys this number, or a higher one, has seen it.';

comment on table comanda.inbox is 'Has this consumer seen this message? Written in the consumer''s own transaction.';
comment on column comanda.inbox.consumer is 'Which consumer?';
comment on column comanda.inbox.key is 'Which message?';
comment on column comanda.inbox.received_at is 'When was it first seen?';
comment on column comanda.inbox.expires_at is 'When can it be forgotten? Not before the sender''s last repetition.';

comment on table comanda.checkpoint is 'How far has each consumer read the feed?';
comment on column comanda.checkpoint.consumer is 'Which consumer?';
comment on column comanda.checkpoint.partition is 'Which part of the feed?';
comment on column comanda.checkpoint.position is 'Up to which place?';
comment on column comanda.checkpoint.updated_at is 'Since when?';

comment on table comanda.projection is 'Which views are built from the events, and which build of each is the one to read?';
comment on column comanda.projection.name is 'Which view?';
comment on column comanda.projection.version is 'Which build of it?';
comment on column comanda.projection.state is 'Is it being built, live, retired, or did the build fail?';
comment on column comanda.projection.snapshot_position is 'From which place of the feed does the build follow?';
comment on column comanda.projection.started_at is 'When did the build start?';
comment on column comanda.projection.live_at is 'Since when is it read?';
comment on column comanda.projection.retired_at is 'Since when is it not read any more?';
comment on column comanda.projection.detail is 'What else is known about the build?';

comment on table comanda.gap is 'Which event is a consumer missing, so that its key is parked until it comes?';
comment on column comanda.gap.consumer is 'Which consumer?';
comment on column comanda.gap.aggregate is 'Of which aggregate?';
comment on column comanda.gap.expected_version is 'Which version should have come?';
comment on column comanda.gap.seen_version is 'Which one came instead?';
comment on column comanda.gap.found_at is 'When was the gap found?';
comment on column comanda.gap.filled_at is 'When was it filled?';

comment on table comanda.audit is 'Which acts of people and of controls are on record, and is the record unbroken?';
comment on column comanda.audit.id is 'In which order were they written?';
comment on column comanda.audit.at is 'When?';
comment on column comanda.audit.actor is 'Who?';
comment on column comanda.audit.act is 'What did they do?';
comment on column comanda.audit.subject is 'To what?';
comment on column comanda.audit.reason is 'Why?';
comment on column comanda.audit.detail is 'With which details?';
comment on column comanda.audit.chain_position is 'Which link of the chain is it? Null until it is chained, after its commit.';
comment on column comanda.audit.previous_hash is 'What was the hash of the link before?';
comment on column comanda.audit.hash is 'Does this row still say what it said when it was chained?';

comment on table comanda.relay is 'Which relays live, what can they execute, and which turn of the switch do they obey?';
comment on column comanda.relay.id is 'Which process? New at each start.';
comment on column comanda.relay.kinds is 'Which kinds can it execute?';
comment on column comanda.relay.software_version is 'Which version of the software is it?';
comment on column comanda.relay.schema_version is 'For which schema version was it written?';
comment on column comanda.relay.switch_version is 'Which turn of the switch does it obey?';
comment on column comanda.relay.started_at is 'Since when does it live?';
comment on column comanda.relay.beat_at is 'When did it last say so?';
comment on column comanda.relay.stopped_at is 'When did it say goodbye? Null while it runs, or when it was killed.';

comment on view comanda.effect_state is 'How far is each effect, what does it wait for, and since when? In the product''s own words.';
comment on column comanda.effect_state.effect_id is 'Which effect?';
comment on column comanda.effect_state.run_key is 'Which decision, by its key?';
comment on column comanda.effect_state.run_id is 'Which decision, by its number?';
comment on column comanda.effect_state.subject is 'What is the decision about?';
comment on column comanda.effect_state.name is 'Which of the decision''s effects is it?';
comment on column comanda.effect_state.kind is 'What sort of act is it?';
comment on column comanda.effect_state.kind_version is 'For which version of the kind was it written?';
comment on column comanda.effect_state.target is 'Which destination receives it?';
comment on column comanda.effect_state.ordering_key is 'With which other effects does it keep its order?';
comment on column comanda.effect_state.subject_version is 'For which version of its subject was it decided?';
comment on column comanda.effect_state.idempotency_key is 'By which key does the target recognise a repetition?';
comment on column comanda.effect_state.state is 'How far is it: waiting, pending, sending, unknown, completed, failed or cancelled?';
comment on column comanda.effect_state.waits_for is 'What does a waiting effect wait for?';
comment on column comanda.effect_state.next_at is 'When is it looked at next? For a sending effect: when does the lease end?';
comment on column comanda.effect_state.attempts is 'How often was it tried?';
comment on column comanda.effect_state.blocked_by is 'What stands in its way: an effect in front of it, a switch, a person''s answer?';
comment on column comanda.effect_state.parked_at is 'Since when is its lane parked?';
comment on column comanda.effect_state.relay is 'Which relay holds, or last held, its lane?';
comment on column comanda.effect_state.fence is 'Under which claim or act does its lane stand?';
comment on column comanda.effect_state.ended_as is 'How did it end? Null while it has not.';
comment on column comanda.effect_state.ended_at is 'When did it end?';
comment on column comanda.effect_state.ended_by is 'Which relay or person says so?';
comment on column comanda.effect_state.ended_reason is 'Why did it end so?';
comment on column comanda.effect_state.provider_id is 'How does the provider name what it did?';
comment on column comanda.effect_state.created_at is 'When was it decided?';

comment on view comanda.outbox is 'Which effects are pending, processing, done or failed? The outbox as the pattern is usually drawn. Read-only: decide() adds, cancel() takes back, request() skips, redrives and resolves.';
comment on column comanda.outbox.id is 'Which effect?';
comment on column comanda.outbox.aggregate_id is 'What is it about: the subject without its type?';
comment on column comanda.outbox.effect_type is 'What sort of act is it?';
comment on column comanda.outbox.payload is 'What is sent?';
comment on column comanda.outbox.idempotency_key is 'By which key does the target recognise a repetition?';
comment on column comanda.outbox.status is 'Is it pending, processing, done, failed, delayed, held, unknown or cancelled?';
comment on column comanda.outbox.attempts is 'How often was it tried?';
comment on column comanda.outbox.last_error is 'What did the last try that did not succeed say?';
comment on column comanda.outbox.created_at is 'When was it decided?';
comment on column comanda.outbox.processed_at is 'When did it end?';
comment on column comanda.outbox.state is 'How far is it, in the product''s own words?';
comment on column comanda.outbox.subject is 'What is the decision about?';
comment on column comanda.outbox.run_key is 'Which decision implies it?';
comment on column comanda.outbox.name is 'Which of the decision''s effects is it?';
comment on column comanda.outbox.target is 'Which destination receives it?';
comment on column comanda.outbox.ordering_key is 'With which other effects does it keep its order?';
comment on column comanda.outbox.provider_id is 'How does the provider name what it did?';

comment on view comanda.run_ledger is 'Was this key processed, and what came of it? The ledger as the pattern is usually drawn: a plain decision is as far as its effects are. Read-only: decide() adds.';
comment on column comanda.run_ledger.id is 'Which decision, by its number?';
comment on column comanda.run_ledger.idempotency_key is 'Which decision, by its key?';
comment on column comanda.run_ledger.order_id is 'What is it about: the subject without its type?';
comment on column comanda.run_ledger.status is 'Is it pending, done or failed - or held, unknown or cancelled, which never read as pending?';
comment on column comanda.run_ledger.result is 'What did it come to?';
comment on column comanda.run_ledger.created_at is 'When was it recorded?';
comment on column comanda.run_ledger.updated_at is 'When did it, or one of its effects, last go on?';
comment on column comanda.run_ledger.state is 'How far is it, in the product''s own words?';
comment on column comanda.run_ledger.subject is 'What is it about?';
comment on column comanda.run_ledger.kind is 'What sort of decision is it?';
comment on column comanda.run_ledger.actor_type is 'Was it a human, an agent or a system that decided?';
comment on column comanda.run_ledger.actor_id is 'Who decided?';
comment on column comanda.run_ledger.tenant is 'Whose decision is it?';
comment on column comanda.run_ledger.reason is 'Why was it decided?';
comment on column comanda.run_ledger.effects is 'How many effects does it imply?';
comment on column comanda.run_ledger.open_effects is 'How many of them have not ended?';

comment on view comanda.unattended is 'What will nobody ever look at again? Structural holes: empty at all times, or the installation is damaged.';
comment on column comanda.unattended.what is 'What sort of hole is it?';
comment on column comanda.unattended.effect_id is 'Which effect is in it, when it is one effect?';
comment on column comanda.unattended.thing is 'Which effect, lane, decision or request is it?';

comment on view comanda.attention is 'What waits for a person, or should have gone on by itself and did not: since when, and what to do?';
comment on column comanda.attention.what is 'What sort of thing is it?';
comment on column comanda.attention.effect_id is 'Which effect, when it is one effect?';
comment on column comanda.attention.run_key is 'Which decision?';
comment on column comanda.attention.kind is 'Which kind of effect?';
comment on column comanda.attention.target is 'Which destination?';
comment on column comanda.attention.lane is 'Which lane does it hold up?';
comment on column comanda.attention.reason is 'What happened?';
comment on column comanda.attention.since is 'Since when?';
comment on column comanda.attention.what_to_do is 'What can be done about it?';

comment on view comanda.gauges is 'How much is unfinished, how old is the oldest of it, and does anybody work? As cheap as the unfinished work is small.';
comment on column comanda.gauges.name is 'Which number?';
comment on column comanda.gauges.label is 'Of what, when there are several: a kind, an action, a reason?';
comment on column comanda.gauges.value is 'How much?';

comment on function comanda.decide(jsonb) is
  'Record this decision and its effects in my transaction? Takes {key, effects: [{kind, payload, name?, version?, target?, key?, orderingKey?, subjectVersion?, headers?, delayMs? | dueAt? | cancelWindowMs?}], subject?, kind?, actor?, tenant?, reason?, trigger?, workflowVersion?, endpointClass?, model?, modelRevision?, validation?, repairs?, output?, headers?}. The same key again gives the same decision with created = false. A refusal raises CM001 to CM006.';
comment on function comanda.try_decide(jsonb) is
  'As decide(), but the refusal is a row, so that the transaction stays usable: status is decided, existing, conflict, invalid, invalid_payload, too_large, too_many_lanes or key_taken.';
comment on function comanda.decide_many(jsonb) is
  'Record all of these decisions? Takes an array of what decide() takes, 10000 at most; one row each, in the order given, with the status of try_decide(). The others stand when one is refused.';
comment on function comanda.cancel(jsonb) is
  'Can these effects still be taken back? Takes {key, name?, by?, reason?}. cancelled: it never ran. requested: its relay answers. too late: it has ended. CM007 when there is no such effect.';
comment on function comanda.request(jsonb) is
  'Let a person act on one effect? Takes {effect, action: skip | redrive | resolve, by, reason, as?: completed | failed | pending, providerId?}. A relay applies it within seconds and answers in effect_request.';
comment on function comanda.switch_set(jsonb) is
  'Turn a scope on or off? Takes {scope, mode: run | hold | drain | stop, by, reason, owner?, backup?}. Returns the version; a relay whose switch_version is as high obeys it.';
comment on function comanda.relay_beat(jsonb) is
  'I live: what does the switch say? Takes {relay, kinds, softwareVersion, schemaVersion, switchVersion, stopping?}.';
comment on function comanda.publish_kinds(jsonb) is
  'What are the kinds of this deployment? Takes {by, kinds: [{kind, version, target, risk, idempotency, onUnknown, maxAttempts, timeoutMs, contract?, redact?, inputSchema?}]}; returns those that changed.';
comment on function comanda.route(jsonb) is
  'What has arrived? Puts arrivals on their lanes in commit order and leases new lanes to the caller. Takes {relay, leaseMs, kinds: [{kind, lanes}], batch?}. No row: nothing to do, or another router is at work.';
comment on function comanda.claim(jsonb) is
  'Which due work is mine now? Leases lanes and returns the prefix of each head with equal kind and target. Takes {relay, leaseMs, kinds: [{kind, lanes, batch}]}; batch is 1 for kinds that are not idempotent.';
comment on function comanda.payloads(jsonb) is
  'What do my claimed effects say? Takes {effects: [ids], suspects: [ids]}; for suspects also whether an earlier start is unresolved and whether a late answer came.';
comment on function comanda.may_send(jsonb) is
  'May these effects be sent now? Asked right before sending: fence, lease, switch, cancellation. Takes {relay, floor: none | agents | agents_and_undeclared, items: [{lane, fence, effect, attempt, suspect, lost, mark, needMs}]}. go, or why not: lost, short, cancel, applied, busy, off: and a scope. With mark it writes the start row.';
comment on function comanda.settle(jsonb) is
  'What became of my claimed work? Takes {relay, leaseMs, lanes: [{lane, fence, mode: keep | next | retry | unsure | unknown | absent | block, delayMs?, reason?, trouble?, giveBack?, keepLost?, looked?, headFailed?, head?, ended?: [{pos, effect, state, …}]}]}. ok, busy (call again) or fenced (too late: tell late_evidence()).';
comment on function comanda.late_evidence(jsonb) is
  'What did I learn about work that is no longer mine? Takes {relay, items: [{fence, effect, attempt, outcome, …}]}; kept once, and believed by the next look-up.';
comment on function comanda.renew(jsonb) is
  'Do I still hold these lanes, and may I go on? Takes {relay, leaseMs, lanes: [{lane, fence}]}. ok, busy (call again) or lost (stop).';
comment on function comanda.sweep(jsonb) is
  'What is due that no lane will tell? Moves waiting effects that are due, unparks lanes whose switch is on again, applies requests, makes partitions. Takes {relay, batch?}; one sweep at a time, the others return ran = false.';
comment on function comanda.set_awake(float8) is
  'Until when does some relay look anyway, in milliseconds from now? 0: it sleeps, so decisions notify; -1: always, so they never do.';
comment on function comanda.wake_channel() is
  'On which channel do decisions of this installation notify?';

comment on function comanda.effect_content(text, text, int, text, text, text, bigint) is 'What of an effect makes a decision the same or another? Internal.';
comment on function comanda.run_fits(comanda.run) is 'May the ledger hold this row? Limits of size, and what belongs together. Internal: CHECK of run.';
comment on function comanda.effect_fits(comanda.effect) is 'May the outbox hold this row? Limits of size. Internal: CHECK of effect.';
comment on function comanda.wake() is 'Does anybody have to be told that there is work? Internal: part of try_decide() and place().';
comment on function comanda.place() is 'Which place does a keyed effect take in its lane? Drawn at COMMIT. Internal: trigger of effect.';
comment on function comanda.invalid_decision(jsonb) is 'What is wrong with the shape of this decision? Null when nothing is. Internal.';
comment on function comanda.stopped(boolean) is 'Which scopes are off? Null: everything, because the row for all does not say run. Internal.';
comment on function comanda.sweep_waiting(int) is 'Which waiting effects are due, and is their lane free to take them? Internal: part of sweep().';
comment on function comanda.sweep_parked(int) is 'Which parked lanes have no reason to be parked any more? Internal: part of sweep().';
comment on function comanda.sweep_requests(int) is 'Which requests can be answered now? Internal: part of sweep().';
comment on function comanda.apply_request(bigint) is 'What came of this request? Null when it must wait. Internal: part of sweep().';
comment on function comanda.ensure_partitions(timestamptz) is 'Are there partitions for this month and the next two? Returns how many were made. Internal: part of sweep().';
comment on function comanda.refuse_view_write() is 'Which function should have been called instead? Internal: trigger of the read-only views.';

-- Rights. Nothing is executable by PUBLIC. Roles are made when the installer may; without CREATEROLE an administrator makes them (comanda migrate --sql prints this) and migrates again.
revoke all on schema comanda from public;
revoke execute on all functions in schema comanda from public;
do $do$
declare
  prefix text := coalesce(nullif(current_setting('comanda.role_prefix', true), ''), 'comanda');
  ns text := (select quote_ident(n.nspname) from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = 'comanda.run'::regclass);
  may_create boolean := (select r.rolcreaterole or r.rolsuper from pg_roles r where r.rolname = current_user);
  door record;
  role text;
  callable text;
  columns text;
begin
  for door in
    select * from (values
      ('app', array['decide', 'try_decide', 'decide_many', 'cancel'], array['outbox', 'run_ledger', 'effect_state', 'installation']),
      ('relay', array['relay_beat', 'publish_kinds', 'route', 'claim', 'payloads', 'may_send', 'settle', 'late_evidence', 'renew', 'sweep', 'set_awake', 'wake_channel'],
        array['installation', 'effect_state', 'attention', 'gauges', 'unattended']),
      ('approver', array[]::text[], array['outbox', 'run_ledger', 'effect_state', 'installation']),
      ('operator', array['cancel', 'request', 'switch_set'],
        array['outbox', 'run_ledger', 'effect_state', 'attention', 'gauges', 'unattended', 'installation', 'run', 'effect', 'effect_key', 'waiting', 'attempt', 'outcome', 'lane', 'effect_queue',
          'effect_arrival', 'effect_request', 'effect_kind', 'policy', 'target', 'switch', 'relay', 'audit']),
      ('reader', array[]::text[],
        array['outbox', 'run_ledger', 'effect_state', 'attention', 'gauges', 'unattended', 'installation', 'run', 'effect', 'effect_key', 'waiting', 'attempt', 'outcome', 'lane', 'effect_queue',
          'effect_arrival', 'effect_request', 'effect_kind', 'policy', 'target', 'switch', 'relay', 'audit'])
    ) d (role, functions, relations)
  loop
    role := prefix || '_' || door.role;
    if not exists (select from pg_roles r where r.rolname = role) then
      if not may_create then
        continue;
      end if;
      begin
        execute format('create role %I nologin', role);
      exception when duplicate_object or unique_violation then null;  -- another installation of this cluster was faster
      end;
    end if;
    execute format('grant usage on schema %s to %I', ns, role);
    for callable in
      select p.oid::regprocedure::text from pg_proc p where p.pronamespace = to_regnamespace(ns) and p.proname = any (door.functions)
    loop
      execute format('grant execute on function %s to %I', callable, role);
    end loop;
    for callable in
      select format('%s.%I', ns, c.relname) from pg_class c where c.relnamespace = to_regnamespace(ns) and c.relname = any (door.relations)
    loop
      execute format('grant select on %s to %I', callable, role);
    end loop;
    -- A write through a read-only view is answered with the function to call, not with a missing right. By column: the right on the whole view would allow LOCK TABLE on all that it reads.
    for callable, columns in
      select format('%s.%I', ns, c.relname), (select string_agg(quote_ident(a.attname), ', ') from pg_attribute a where a.attrelid = c.oid and a.attnum > 0)
        from pg_class c where c.relnamespace = to_regnamespace(ns) and c.relname in ('outbox', 'run_ledger') and c.relname = any (door.relations)
    loop
      execute format('grant insert (%s), update (%s) on %s to %I', columns, columns, callable, role);
    end loop;
  end loop;
end
$do$;

insert into comanda.installation (schema_version, compatible_from, routines_sha256, environment, system_identifier, database_oid, timeline)
  select 1, 1, 'of schema 1', 'unset', (select system_identifier from pg_control_system()), (select oid from pg_database where datname = current_database()), (select timeline_id from pg_control_checkpoint());
select comanda.ensure_partitions(clock_timestamp());
