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
    insert into comanda.effect as w (id, run_id, name, kind, kind_version, target, payload, headers, explicit_key, ordering_key, subject_version, waits, due_at)
      values (coalesce(ids[i], nextval('comanda.effect_id'::regclass)), run_id, coalesce(e ->> 'name', e ->> 'kind'), e ->> 'kind', coalesce((e ->> 'version')::int, 1),
        coalesce((select p.target from comanda.effect_kind p where p.kind = e ->> 'kind' and p.version = coalesce((e ->> 'version')::int, 1)), e ->> 'target', e ->> 'kind'),
        coalesce(e -> 'payload', '{}')::text, coalesce(e ->> 'headers', decision ->> 'headers'), e ->> 'key', e ->> 'orderingKey', (e ->> 'subjectVersion')::bigint,
        case when e ->> 'cancelWindowMs' is not null then 'window' when coalesce(e ->> 'delayMs', e ->> 'dueAt') is not null then 'delayed' end,
        coalesce((e ->> 'dueAt')::timestamptz, clock_timestamp() + coalesce(e ->> 'delayMs', e ->> 'cancelWindowMs')::float8 * interval '1 millisecond'))
      returning w.id, w.kind, w.target, w.ordering_key, w.waits, w.due_at into written;
    if written.waits is not null then
      insert into comanda.waiting (effect_id, reason, next_at, lane, kind, target)
        values (written.id, written.waits, written.due_at, coalesce('k:' || written.ordering_key, 'e:' || written.id), written.kind, written.target);
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
