-- Records a decision and its effects in the caller's transaction, or says why not. Always one row. A refusal is a row, so the caller's transaction stays usable.
--   status: decided | existing | conflict | invalid | invalid_payload | too_large | too_many_lanes | key_taken
create or replace function comanda.try_decide(decision jsonb)
returns table (status text, run_id bigint, created boolean, run_key text, run_state text, effects_hash text, decided_at timestamptz, problem text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  k text := decision ->> 'key';
  wrong text := comanda.invalid_decision(decision);
  seed bigint := 'comanda.effect_arrival'::regclass::oid::bigint;
  setting text := 'comanda.lanes_' || seed;
  given_hash bytea;
  found_run comanda.run;
  rid bigint;
  size int;
  limit_bytes int;
  lanes text;
  explicit_count int;
  names int;
  ids bigint[];
begin
  if wrong is not null then
    return query select 'invalid', null::bigint, false, k, null, null, null::timestamptz, wrong;
    return;
  end if;
  -- Exponents are bounded before any number is printed: a few bytes of JSON can stand for megabytes of digits.
  if jsonb_path_exists(decision -> 'effects', '$.** ? (@.type() == "number" && (@ >= 1e1000 || @ <= -1e1000 || (@ > -1e-1000 && @ < 1e-1000 && @ != 0)))') then
    return query select 'invalid_payload', null::bigint, false, k, null, null, null::timestamptz,
      'a number has more than 1000 digits before or after the decimal point';
    return;
  end if;
  select max(octet_length((e.v -> 'payload')::text)), count(*) filter (where e.v ? 'key'), count(distinct coalesce(e.v ->> 'name', e.v ->> 'kind')),
      sha256(convert_to(coalesce(decision ->> 'subject', '') || chr(10) || coalesce(string_agg(comanda.effect_content(
        coalesce(e.v ->> 'name', e.v ->> 'kind'), e.v ->> 'kind', coalesce((e.v ->> 'version')::int, 1), coalesce(e.v -> 'payload', '{}')::text,
        e.v ->> 'key', e.v ->> 'orderingKey', (e.v ->> 'subjectVersion')::bigint), chr(10) order by e.n), ''), 'UTF8'))
    into size, explicit_count, names, given_hash
    from jsonb_array_elements(decision -> 'effects') with ordinality e (v, n);
  if names < jsonb_array_length(decision -> 'effects') then
    return query select 'invalid', null::bigint, false, k, null, null, null::timestamptz,
      'two effects of this decision have the same name; give each a "name" (the default is its kind)';
    return;
  end if;
  if size > 1048576 then
    select i.payload_max_bytes into limit_bytes from comanda.installation i;
    if size > limit_bytes then
      return query select 'too_large', null::bigint, false, k, null, null, null::timestamptz,
        format('a payload has %s bytes as stored; the limit of this installation is %s bytes', size, limit_bytes);
      return;
    end if;
  end if;

  insert into comanda.run (key, subject, kind, actor_type, actor_id, on_behalf_of, by_agent, tenant, reason, trigger_origin, workflow_version, endpoint_class,
      model, model_revision, validation, repairs, output, effects_hash, state)
    values (k, coalesce(decision ->> 'subject', ''), decision ->> 'kind', decision -> 'actor' ->> 'type', decision -> 'actor' ->> 'id',
      decision -> 'actor' -> 'onBehalfOf',
      decision ? 'model' or coalesce(decision -> 'actor' ->> 'type' = 'agent', false)
        or coalesce(jsonb_path_exists(decision -> 'actor' -> 'onBehalfOf', '$.** ? (@.type == "agent")'), false),
      decision ->> 'tenant', decision ->> 'reason', decision ->> 'trigger', decision ->> 'workflowVersion', decision ->> 'endpointClass',
      decision ->> 'model', decision ->> 'modelRevision', decision ->> 'validation', (decision ->> 'repairs')::int, decision ->> 'output', given_hash, 'decided')
    on conflict (key) do nothing returning id into rid;
  if rid is null then
    -- A second statement, hence a new snapshot: the winner's row is visible now.
    select * into found_run from comanda.run r where r.key = k;
    if found_run.id is null then
      -- REPEATABLE READ: the winner committed after our snapshot. The caller starts over.
      raise exception 'the decision "%" was taken by a concurrent transaction that this snapshot cannot see', k using errcode = '40001';
    end if;
    if found_run.effects_hash is distinct from given_hash then
      return query select 'conflict', found_run.id, false, k, found_run.state, encode(found_run.effects_hash, 'hex'), found_run.created_at,
        format('the key was decided at %s with other content (stored hash %s, given hash %s)', found_run.created_at,
          left(encode(found_run.effects_hash, 'hex'), 12), left(encode(given_hash, 'hex'), 12));
      return;
    end if;
    return query select 'existing', found_run.id, false, k, found_run.state, encode(found_run.effects_hash, 'hex'), found_run.created_at, null;
    return;
  end if;

  ids := array(select nextval('comanda.effect_id') from jsonb_array_elements(decision -> 'effects'));
  if explicit_count > 0 then
    with i as (
      insert into comanda.effect_key (key, effect_id)
        select e.v ->> 'key', ids[e.n] from jsonb_array_elements(decision -> 'effects') with ordinality e (v, n) where e.v ? 'key' order by 1
        on conflict do nothing returning 1)
    select count(*) into size from i;
    if size < explicit_count then
      delete from comanda.effect_key x where x.effect_id = any (ids);
      delete from comanda.run r where r.id = rid;
      return query select 'key_taken', null::bigint, false, k, null, null, null::timestamptz,
        'an explicit effect key is already used by another effect, or twice in this decision';
      return;
    end if;
  end if;

  -- The hashes of this transaction's lanes, for the first firing of place(). A savepoint that is rolled back restores the setting.
  select string_agg(distinct h.h, ' ') into lanes from (
      select hashtextextended(e.v ->> 'orderingKey', seed)::text as h from jsonb_array_elements(decision -> 'effects') e (v)
        where e.v ->> 'orderingKey' is not null and not e.v ?| array['delayMs', 'dueAt', 'cancelWindowMs']) h
    where strpos(' ' || coalesce(current_setting(setting, true), '') || ' ', ' ' || h.h || ' ') = 0;
  if lanes is not null then
    lanes := concat_ws(' ', nullif(current_setting(setting, true), ''), lanes);
    if cardinality(string_to_array(lanes, ' ')) > 1000 then
      delete from comanda.effect_key x where x.effect_id = any (ids);
      delete from comanda.run r where r.id = rid;
      return query select 'too_many_lanes', null::bigint, false, k, null, null, null::timestamptz,
        'this transaction touches more than 1000 ordering keys; commit in smaller transactions';
      return;
    end if;
    perform set_config(setting, lanes, true);
  end if;

  with given as (
      select ids[e.n] as id, coalesce(e.v ->> 'name', e.v ->> 'kind') as name, e.v ->> 'kind' as kind, coalesce((e.v ->> 'version')::int, 1) as version, e.v,
        case when e.v ? 'delayMs' or e.v ? 'dueAt' then 'delayed' when e.v ? 'cancelWindowMs' then 'window' end as waits,
        case when e.v ? 'dueAt' then (e.v ->> 'dueAt')::timestamptz
          else clock_timestamp() + (coalesce(e.v ->> 'delayMs', e.v ->> 'cancelWindowMs')::float8 * interval '1 millisecond') end as due
      from jsonb_array_elements(decision -> 'effects') with ordinality e (v, n)),
    written as (
      insert into comanda.effect (id, run_id, name, kind, kind_version, target, payload, headers, explicit_key, ordering_key, subject_version, waits)
        select g.id, rid, g.name, g.kind, g.version, coalesce(p.target, g.v ->> 'target', g.kind), coalesce(g.v -> 'payload', '{}')::text,
          coalesce(g.v -> 'headers', decision -> 'headers')::text, g.v ->> 'key', g.v ->> 'orderingKey', (g.v ->> 'subjectVersion')::bigint, g.waits
          from given g left join comanda.effect_kind p on p.kind = g.kind and p.version = g.version order by g.id
        returning id, kind, target, ordering_key, waits),
    waiting as (
      insert into comanda.waiting (effect_id, reason, next_at, lane, kind, target)
        select w.id, w.waits, g.due, coalesce('k:' || w.ordering_key, 'e:' || w.id), w.kind, w.target from written w join given g on g.id = w.id where w.waits is not null),
    arrived as (
      insert into comanda.effect_arrival (id, effect_id, lane, kind, target)
        select nextval('comanda.lane_position'), w.id, 'e:' || w.id, w.kind, w.target from written w where w.ordering_key is null and w.waits is null
        returning 1)
  select count(*) into size from arrived;
  if size > 0 and (select s.last_value from comanda.awake s) < extract(epoch from clock_timestamp()) * 1000 then
    perform pg_notify('comanda_' || seed, '');
  end if;
  return query select 'decided', rid, true, k, 'decided', encode(given_hash, 'hex'), now(), null;
end
$fn$;
