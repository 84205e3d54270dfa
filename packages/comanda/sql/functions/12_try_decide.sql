-- Records a decision and its effects in the caller's transaction, or says why not. Always one row. A refusal is a row, so the caller's transaction stays usable.
--   status: decided | existing | conflict | invalid | invalid_payload | too_large | too_many_lanes | key_taken
-- Loops of plain INSERTs on purpose: for the usual one to three effects they cost a fraction of one statement that writes everything, planned anew each time.
create or replace function comanda.try_decide(decision jsonb)
returns table (status text, run_id bigint, created boolean, run_key text, run_state text, effects_hash text, decided_at timestamptz, problem text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $fn$
#variable_conflict use_column
declare
  k text := decision ->> 'key';
  effects jsonb := decision -> 'effects';
  n int;
  e jsonb;
  payload jsonb;
  payloads text[] := '{}';
  contents text[] := '{}';
  given_hash bytea;
  size int := 0;
  most int;
  explicit int := 0;
  ids bigint[] := '{}';
  seed bigint := 'comanda.effect_arrival'::regclass::oid::bigint;
  setting text := 'comanda.lanes_' || seed;
  lanes text := coalesce(current_setting(setting, true), '');
  lane_count int := cardinality(string_to_array(lanes, ' '));
  lane_hash text;
  keyed boolean := false;
  rid bigint;
  decided timestamptz;
  known_state text;
  known_hash bytea;
  wait_reason text;
  due timestamptz;
  written record;
  arrived boolean := false;
begin
  run_key := k;
  created := false;
  problem := comanda.invalid_decision(decision);
  if problem is not null then
    status := 'invalid';
    return next;
    return;
  end if;

  n := jsonb_array_length(effects);
  for i in 1 .. n loop
    e := effects -> (i - 1);
    payload := coalesce(e -> 'payload', '{}');
    -- A few bytes of JSON can stand for megabytes of digits (1e9999): what could hold many such numbers is looked at before it is printed.
    if (case when pg_column_size(payload) > 2000 then true else octet_length(payload::text) > 1000 end)
        and jsonb_path_exists(payload, '$.** ? (@.type() == "number" && (@ >= 1e1000 || @ <= -1e1000 || (@ > -1e-1000 && @ < 1e-1000 && @ != 0)))') then
      status := 'invalid_payload';
      problem := format('effects[%s]: a number has more than 1000 digits before or after the decimal point', i - 1);
      return next;
      return;
    end if;
    payloads[i] := payload::text;
    size := greatest(size, octet_length(payloads[i]));
    contents[i] := comanda.effect_content(coalesce(e ->> 'name', e ->> 'kind'), e ->> 'kind', coalesce((e ->> 'version')::int, 1), payloads[i],
      e ->> 'key', e ->> 'orderingKey', (e ->> 'subjectVersion')::bigint);
    explicit := explicit + (e ->> 'key' is not null)::int;
    if e ->> 'orderingKey' is not null and num_nonnulls(e ->> 'delayMs', e ->> 'dueAt', e ->> 'cancelWindowMs') = 0 then
      keyed := true;
      lane_hash := hashtextextended(e ->> 'orderingKey', seed)::text;
      if lane_count <= 1000 and strpos(' ' || lanes || ' ', ' ' || lane_hash || ' ') = 0 then
        lanes := ltrim(lanes || ' ' || lane_hash);
        lane_count := lane_count + 1;
      end if;
    end if;
  end loop;
  given_hash := sha256(convert_to(coalesce(decision ->> 'subject', '') || chr(10) || array_to_string(contents, chr(10)), 'UTF8'));
  if size > 1024 then
    select i.payload_max_bytes into most from comanda.installation i;
    if size > most then
      status := 'too_large';
      problem := format('a payload has %s bytes as stored; the limit of this installation is %s bytes', size, most);
      return next;
      return;
    end if;
  end if;

  insert into comanda.run (key, subject, kind, actor_type, actor_id, on_behalf_of, by_agent, tenant, reason, trigger_origin, workflow_version, endpoint_class,
      model, model_revision, validation, repairs, output, effects_hash, state)
    values (k, coalesce(decision ->> 'subject', ''), decision ->> 'kind', decision -> 'actor' ->> 'type', decision -> 'actor' ->> 'id',
      nullif(decision -> 'actor' -> 'onBehalfOf', 'null'),
      -- An agent anywhere in the chain, or a model.
      num_nonnulls(decision ->> 'model', decision ->> 'modelRevision') > 0
        or coalesce(jsonb_path_exists(decision -> 'actor', '$.**.type ? (@ == "agent")'), false),
      decision ->> 'tenant', decision ->> 'reason', decision ->> 'trigger', decision ->> 'workflowVersion', decision ->> 'endpointClass',
      decision ->> 'model', decision ->> 'modelRevision', decision ->> 'validation', (decision ->> 'repairs')::int, decision ->> 'output', given_hash, 'decided')
    on conflict (key) do nothing returning id, created_at into rid, decided;
  if rid is null then
    -- A second statement, hence a new snapshot: the winner's row is visible now.
    select r.id, r.created_at, r.state, r.effects_hash into rid, decided, known_state, known_hash from comanda.run r where r.key = k;
    if rid is null then
      -- REPEATABLE READ: the winner committed after our snapshot. The caller starts over.
      raise exception 'the decision "%" was taken by a concurrent transaction that this snapshot cannot see', k using errcode = '40001';
    end if;
    run_id := rid;
    run_state := known_state;
    effects_hash := encode(known_hash, 'hex');
    decided_at := decided;
    status := case when known_hash = given_hash then 'existing' else 'conflict' end;
    if status = 'conflict' then
      problem := format('the key was decided at %s with other content (stored hash %s, given hash %s)', decided, left(effects_hash, 12), left(encode(given_hash, 'hex'), 12));
    end if;
    return next;
    return;
  end if;

  if keyed then
    if lane_count > 1000 then
      delete from comanda.run r where r.id = rid;
      status := 'too_many_lanes';
      problem := 'this transaction touches more than 1000 ordering keys; commit in smaller transactions';
      return next;
      return;
    end if;
  end if;
  if explicit > 0 then
    for i in 1 .. n loop
      ids[i] := nextval('comanda.effect_id'::regclass);
    end loop;
    -- In one order, so that two transactions with the same keys cannot deadlock.
    insert into comanda.effect_key (key, effect_id)
      select x.key, x.id from (select d.v ->> 'key' as key, ids[d.n] as id from jsonb_array_elements(effects) with ordinality d (v, n)) x
        where x.key is not null order by x.key collate "C"
      on conflict do nothing;
    get diagnostics size = row_count;
    if size < explicit then
      select format('the effect key "%s" is used twice in this decision or by another effect', x.key) into problem
        from (select d.v ->> 'key' as key, ids[d.n] as id from jsonb_array_elements(effects) with ordinality d (v, n)) x
        where x.key is not null and not exists (select from comanda.effect_key t where t.key = x.key and t.effect_id = x.id) limit 1;
      delete from comanda.effect_key t where t.effect_id = any (ids);
      delete from comanda.run r where r.id = rid;
      status := 'key_taken';
      return next;
      return;
    end if;
  end if;
  if keyed then
    -- The hashes of this transaction's lanes, for the first firing of place(). A savepoint that is rolled back restores the setting.
    setting := set_config(setting, lanes, true);
  end if;

  for i in 1 .. n loop
    e := effects -> (i - 1);
    wait_reason := case when e ->> 'cancelWindowMs' is not null then 'window' when num_nonnulls(e ->> 'delayMs', e ->> 'dueAt') > 0 then 'delayed' end;
    insert into comanda.effect as w (id, run_id, name, kind, kind_version, target, payload, headers, explicit_key, ordering_key, subject_version, waits)
      values (coalesce(ids[i], nextval('comanda.effect_id'::regclass)), rid, coalesce(e ->> 'name', e ->> 'kind'), e ->> 'kind', coalesce((e ->> 'version')::int, 1),
        coalesce((select p.target from comanda.effect_kind p where p.kind = e ->> 'kind' and p.version = coalesce((e ->> 'version')::int, 1)), e ->> 'target', e ->> 'kind'),
        payloads[i], coalesce(nullif(e -> 'headers', 'null'), nullif(decision -> 'headers', 'null'))::text, e ->> 'key', e ->> 'orderingKey', (e ->> 'subjectVersion')::bigint, wait_reason)
      returning w.id, w.kind, w.target, w.ordering_key into written;
    if wait_reason is not null then
      due := case when e ->> 'dueAt' is not null then (e ->> 'dueAt')::timestamptz
        else clock_timestamp() + coalesce(e ->> 'delayMs', e ->> 'cancelWindowMs')::float8 * interval '1 millisecond' end;
      insert into comanda.waiting (effect_id, reason, next_at, lane, kind, target)
        values (written.id, wait_reason, due, coalesce('k:' || written.ordering_key, 'e:' || written.id), written.kind, written.target);
    elsif written.ordering_key is null then
      insert into comanda.effect_arrival (id, effect_id, lane, kind, target)
        values (nextval('comanda.lane_position'::regclass), written.id, 'e:' || written.id, written.kind, written.target);
      arrived := true;
    end if;
  end loop;
  -- Nobody is told while some relay looks anyway. Equal notifications of one transaction are one.
  if arrived and coalesce(pg_sequence_last_value('comanda.awake'::regclass), 0) < extract(epoch from clock_timestamp()) * 1000 then
    perform pg_notify('comanda_' || seed, '');
  end if;
  status := 'decided';
  run_id := rid;
  created := true;
  run_state := 'decided';
  effects_hash := encode(given_hash, 'hex');
  decided_at := decided;
  return next;
end
$fn$;
