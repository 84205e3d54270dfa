-- The first thing that is wrong with the shape of a decision, or null. Shape only: limits of size are in try_decide.
create or replace function comanda.invalid_decision(decision jsonb) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  problem text;
begin
  if decision is null or jsonb_typeof(decision) <> 'object' then
    return 'a decision is a JSON object';
  end if;
  select 'unknown member "' || k || '"' into problem from jsonb_object_keys(decision) k
    where k not in ('key', 'subject', 'kind', 'actor', 'tenant', 'reason', 'trigger', 'workflowVersion', 'endpointClass', 'model',
      'modelRevision', 'validation', 'repairs', 'output', 'headers', 'effects') order by k limit 1;
  if problem is not null then return problem; end if;
  if jsonb_typeof(decision -> 'key') is distinct from 'string' or decision ->> 'key' = '' then
    return '"key" must be a non-empty string';
  end if;
  if octet_length(decision ->> 'key') > 512 then
    return format('"key" has %s bytes; the limit is 512 bytes of UTF-8', octet_length(decision ->> 'key'));
  end if;
  select format('"%s" must be a string', k) into problem
    from unnest(array['subject', 'kind', 'tenant', 'reason', 'trigger', 'workflowVersion', 'endpointClass', 'model', 'modelRevision', 'validation', 'output']) k
    where decision ? k and jsonb_typeof(decision -> k) not in ('string', 'null') limit 1;
  if problem is not null then return problem; end if;
  select format('"%s" has %s bytes; the limit is %s', f.k, octet_length(decision ->> f.k), f.n) into problem
    from (values ('subject', 512), ('kind', 128), ('tenant', 256), ('reason', 4096), ('trigger', 512), ('workflowVersion', 256), ('endpointClass', 256),
      ('model', 256), ('modelRevision', 256), ('validation', 4096), ('output', 65536)) f (k, n)
    where octet_length(decision ->> f.k) > f.n limit 1;
  if problem is not null then return problem; end if;
  if decision ? 'actor' and (jsonb_typeof(decision -> 'actor') <> 'object'
      or coalesce(decision -> 'actor' ->> 'type', '') not in ('human', 'agent', 'system')
      or jsonb_typeof(decision -> 'actor' -> 'id') is distinct from 'string' or octet_length(decision -> 'actor' ->> 'id') not between 1 and 512) then
    return '"actor" must be {"type": "human" | "agent" | "system", "id": "…", "onBehalfOf"?: actor}';
  end if;
  if decision ? 'repairs' and (jsonb_typeof(decision -> 'repairs') <> 'number' or (decision ->> 'repairs')::numeric not between 0 and 1000) then
    return '"repairs" must be a number from 0 to 1000';
  end if;
  if decision ? 'headers' and jsonb_typeof(decision -> 'headers') <> 'object' then
    return '"headers" must be an object of strings';
  end if;
  if jsonb_typeof(decision -> 'effects') is distinct from 'array' then
    return '"effects" must be an array (an empty one records a decision without effects)';
  end if;
  if jsonb_array_length(decision -> 'effects') > 10000 then
    return format('%s effects in one decision; the limit is 10000', jsonb_array_length(decision -> 'effects'));
  end if;
  select format('effects[%s]: %s', x.n - 1, x.wrong) into problem from (
    select e.n, case
      when jsonb_typeof(e.v) <> 'object' then 'must be an object'
      when jsonb_typeof(e.v -> 'kind') is distinct from 'string' or octet_length(e.v ->> 'kind') not between 1 and 128 then '"kind" must be a string of 1 to 128 bytes'
      when e.v - array['name', 'kind', 'version', 'target', 'payload', 'key', 'orderingKey', 'subjectVersion', 'headers', 'delayMs', 'dueAt', 'cancelWindowMs'] <> '{}'
        then 'unknown member "' || (select min(k) from jsonb_object_keys(e.v - array['name', 'kind', 'version', 'target', 'payload', 'key', 'orderingKey', 'subjectVersion', 'headers', 'delayMs', 'dueAt', 'cancelWindowMs']) k) || '"'
      when e.v ? 'name' and (jsonb_typeof(e.v -> 'name') <> 'string' or octet_length(e.v ->> 'name') not between 1 and 128 or strpos(e.v ->> 'name', '/') > 0) then '"name" must be a string of 1 to 128 bytes without "/"'
      when not e.v ? 'name' and strpos(e.v ->> 'kind', '/') > 0 then 'a kind with "/" needs a "name" without it'
      when e.v ? 'target' and (jsonb_typeof(e.v -> 'target') <> 'string' or octet_length(e.v ->> 'target') not between 1 and 128) then '"target" must be a string of 1 to 128 bytes'
      when e.v ? 'version' and (jsonb_typeof(e.v -> 'version') <> 'number' or e.v ->> 'version' !~ '^[1-9][0-9]{0,8}$') then '"version" must be a positive integer'
      when e.v ? 'key' and (jsonb_typeof(e.v -> 'key') <> 'string' or octet_length(e.v ->> 'key') not between 1 and 512 or strpos(e.v ->> 'key', '/') > 0)
        then '"key" must be a string of 1 to 512 bytes without "/" (derived keys use it)'
      when e.v ? 'orderingKey' and jsonb_typeof(e.v -> 'orderingKey') <> 'null' and (jsonb_typeof(e.v -> 'orderingKey') <> 'string' or octet_length(e.v ->> 'orderingKey') not between 1 and 512) then '"orderingKey" must be a string of 1 to 512 bytes'
      when e.v ? 'subjectVersion' and jsonb_typeof(e.v -> 'subjectVersion') <> 'null' and e.v ->> 'subjectVersion' !~ '^[0-9]{1,18}$' then '"subjectVersion" must be an integer from 0 to 10^18-1'
      when e.v ? 'headers' and jsonb_typeof(e.v -> 'headers') <> 'object' then '"headers" must be an object of strings'
      when (e.v ? 'delayMs')::int + (e.v ? 'dueAt')::int + (e.v ? 'cancelWindowMs')::int > 1 then 'only one of "delayMs", "dueAt" and "cancelWindowMs" can be given'
      when e.v ? 'delayMs' and (jsonb_typeof(e.v -> 'delayMs') <> 'number' or (e.v ->> 'delayMs')::numeric not between 0 and 34560000000) then '"delayMs" must be a number of milliseconds from 0 to 400 days'
      when e.v ? 'cancelWindowMs' and (jsonb_typeof(e.v -> 'cancelWindowMs') <> 'number' or (e.v ->> 'cancelWindowMs')::numeric not between 0 and 34560000000) then '"cancelWindowMs" must be a number of milliseconds from 0 to 400 days'
      when e.v ? 'dueAt' and (jsonb_typeof(e.v -> 'dueAt') <> 'string' or e.v ->> 'dueAt' !~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)$') then '"dueAt" must be an ISO 8601 instant with an offset, e.g. 2026-03-08T02:30:00-05:00'
    end as wrong
    from jsonb_array_elements(decision -> 'effects') with ordinality e (v, n)) x
    where x.wrong is not null order by x.n limit 1;
  return problem;
end
$fn$;
