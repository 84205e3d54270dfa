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
