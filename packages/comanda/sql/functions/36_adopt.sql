-- Fences and places never repeat: logical replication does not copy sequences, and a server that was promoted may not have received their last values. A gap in any case.
create or replace function comanda.raise_sequences() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $fn$
declare
  gap constant bigint := 1000000;
  fence bigint; place bigint; called boolean;
begin
  select s.last_value, s.is_called into fence, called from comanda.fence s;
  -- Only a sequence that was left behind needs a look at all that has ever ended.
  fence := greatest(fence, (select max(l.fence) from comanda.lane l), case when not called or fence < (select max(l.fence) from comanda.lane l) then (select max(o.fence) from comanda.outcome o) end);
  perform setval('comanda.fence'::regclass, fence + gap);
  select s.last_value into place from comanda.lane_position s;
  perform setval('comanda.lane_position'::regclass, gap + greatest(place, (select max(q.pos) from comanda.effect_queue q), (select max(a.id) from comanda.effect_arrival a)));
end
$fn$;

-- A person says that this database is the real one from now on: what it is becomes the fingerprint, and relays configured for it go on.
-- request: {by, reason, environment?, endpoint?: text | [texts], acceptTimeline?}. Without `endpoint` the next relay that names one makes it part of the fingerprint.
-- On the same server a changed timeline is adopted only with `acceptTimeline`: what was sent after the moment to which the server went back is forgotten here and known to the provider only.
create or replace function comanda.adopt(request jsonb)
returns table (system_identifier bigint, database_oid oid, timeline int, environment text, endpoint text, adopted_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $fn$
#variable_conflict use_column
declare
  was comanda.installation;
  is_now comanda.installation;
  f record;
  places text;
  fits boolean;
begin
  if coalesce(request ->> 'by', '') = '' or coalesce(request ->> 'reason', '') = '' then
    raise exception 'adopting needs "by" (who) and "reason" (why)' using errcode = 'CM013';
  end if;
  if (request ->> 'environment') !~ '^[^[:space:][:cntrl:]]{1,128}$' then
    raise exception 'environment must be a name of 1 to 128 characters without spaces' using errcode = 'CM009';
  end if;
  select string_agg(e, ' ' order by n), bool_and(octet_length(e) between 1 and 512 and e !~ '[[:space:]@]') into places, fits
    from jsonb_array_elements_text(case jsonb_typeof(request -> 'endpoint') when 'array' then request -> 'endpoint' when 'string' then jsonb_build_array(request -> 'endpoint') else '[]' end)
      with ordinality x (e, n);
  if not fits then
    raise exception 'an endpoint is host:port/database, without login and password' using errcode = 'CM009';
  end if;
  select * into was from comanda.installation for update;
  if coalesce(request ->> 'environment', was.environment) = 'unset' then
    raise exception 'this installation has no environment name yet: give "environment"' using errcode = 'CM009';
  end if;
  f := comanda.fingerprint();
  if f.system_identifier is not distinct from was.system_identifier and f.timeline is distinct from was.timeline and not coalesce((request ->> 'acceptTimeline')::boolean, false) then
    raise exception 'the timeline went from % to %: effects that were sent after the moment to which the server went back can be pending here again. Compare with the providers, then adopt with acceptTimeline',
      was.timeline, f.timeline using errcode = 'CM012';
  end if;
  perform comanda.raise_sequences();
  update comanda.installation i set system_identifier = f.system_identifier, database_oid = f.database_oid, timeline = f.timeline, environment = coalesce(request ->> 'environment', was.environment),
      endpoint = places, adopted_by = request ->> 'by', adopted_at = clock_timestamp()
    returning i.* into is_now;
  insert into comanda.audit (actor, act, subject, reason, detail) values (request ->> 'by', 'adopt', 'installation', request ->> 'reason', jsonb_build_object(
    'from', jsonb_build_object('system_identifier', was.system_identifier::text, 'database_oid', was.database_oid::text, 'timeline', was.timeline, 'environment', was.environment, 'endpoint', was.endpoint),
    'to', jsonb_build_object('system_identifier', is_now.system_identifier::text, 'database_oid', is_now.database_oid::text, 'timeline', is_now.timeline, 'environment', is_now.environment,
      'endpoint', is_now.endpoint)));
  perform pg_notify('comanda_' || 'comanda.effect_arrival'::regclass::oid::bigint, '');
  return query select is_now.system_identifier, is_now.database_oid, is_now.timeline, is_now.environment, is_now.endpoint, is_now.adopted_at;
end
$fn$;
