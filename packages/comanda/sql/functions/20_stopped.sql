-- What this database is at this moment. A part is null where the server does not tell it (some managed services): then it is not part of the fingerprint.
-- The timeline comes from the name of a WAL file: the control file keeps the old one until the first checkpoint after a promotion, minutes later.
create or replace function comanda.fingerprint(out system_identifier bigint, out database_oid oid, out timeline int)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $fn$
begin
  select d.oid into database_oid from pg_database d where d.datname = current_database();
  begin
    select s.system_identifier into system_identifier from pg_control_system() s;
  exception when insufficient_privilege or feature_not_supported then null;
  end;
  begin
    timeline := ('x' || substr(pg_walfile_name('0/1'), 1, 8))::bit(32)::int;
  exception when others then
    begin
      select greatest(c.timeline_id, r.min_recovery_end_timeline) into timeline from pg_control_checkpoint() c cross join pg_control_recovery() r;
    exception when insufficient_privilege or feature_not_supported then null;
    end;
  end;
end
$fn$;

-- Is this the installation that a person (or its first migration) adopted? `wrong`: why not; null = it is. `moved`: only the timeline is another one: a failover, or a restore to an earlier moment.
-- request: {environment?, endpoint?}: how a relay is configured; what is not given is not compared.
create or replace function comanda.adoption(request jsonb, out wrong text, out moved text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $fn$
declare
  i comanda.installation;
  f record;
begin
  select * into i from comanda.installation;
  if i.singleton is null then
    wrong := 'the row of the table installation cannot be read';
    return;
  end if;
  f := comanda.fingerprint();
  if f.system_identifier is distinct from i.system_identifier or f.database_oid is distinct from i.database_oid then
    wrong := format('it was adopted as database %s of server %s and is now database %s of server %s: a copy, or moved', i.database_oid, i.system_identifier, f.database_oid, f.system_identifier);
  elsif request ->> 'environment' <> i.environment then
    wrong := case when i.environment = 'unset' then format('it has no environment name yet, and this relay is configured for "%s"', request ->> 'environment')
      else format('it belongs to the environment "%s", and this relay is configured for "%s"', i.environment, request ->> 'environment') end;
  elsif not (request ->> 'endpoint') = any (string_to_array(i.endpoint, ' ')) then
    wrong := format('it was adopted as %s, and this relay reaches it as %s', replace(i.endpoint, ' ', ' and '), request ->> 'endpoint');
  elsif f.timeline is distinct from i.timeline then
    moved := format('the server is on timeline %s and was adopted on %s: a failover, or a restore to an earlier moment', f.timeline, i.timeline);
  end if;
end
$fn$;

-- Own tables whose rows row-level security hides: from the functions of this schema, or, where there is no policy, from every role that reads the table directly.
create or replace function comanda.hidden_rows() returns table (relation text, from_functions boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $fn$
  select c.oid::regclass::text, row_security_active(c.oid) from pg_class c
    where c.relnamespace = (select r.relnamespace from pg_class r where r.oid = 'comanda.run'::regclass) and c.relkind in ('r', 'p') and not c.relispartition and c.relrowsecurity
      and (row_security_active(c.oid) or not exists (select from pg_policy p where p.polrelid = c.oid and p.polcmd in ('r', '*')))
    order by 1
$fn$;

-- Does row-level security hide rows from the functions of this schema? No look at the catalog: this is asked before each attempt. hidden_rows() names the tables.
create or replace function comanda.rows_hidden() returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $fn$
  select row_security_active('comanda.lane'::regclass) or row_security_active('comanda.effect'::regclass) or row_security_active('comanda.outcome'::regclass) or row_security_active('comanda.attempt'::regclass)
    or row_security_active('comanda.effect_queue'::regclass) or row_security_active('comanda.effect_arrival'::regclass) or row_security_active('comanda.effect_request'::regclass) or row_security_active('comanda.effect_kind'::regclass)
    or row_security_active('comanda.run'::regclass) or row_security_active('comanda.effect_key'::regclass) or row_security_active('comanda.waiting'::regclass) or row_security_active('comanda.policy'::regclass)
    or row_security_active('comanda.target'::regclass) or row_security_active('comanda.switch'::regclass) or row_security_active('comanda.relay'::regclass) or row_security_active('comanda.audit'::regclass)
$fn$;

-- The scopes that are off, as the switch says now. Null = act on nothing: the row for `all` is missing, unreadable or not `run` (or `drain`, when that is allowed), or this is not the adopted installation.
-- After a failover alone, what a key protects goes on; every other kind is off until a person has looked. `installation:moved` tells may_send() so.
create or replace function comanda.stopped(draining_acts boolean, request jsonb default null) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $fn$
declare
  scopes text[];
  a record;
begin
  -- What was sent could not be written down, or be seen.
  if comanda.rows_hidden() then
    return null;
  end if;
  -- Drain lets through what was claimed before. A claim looks at no run, so that nobody could tell what of a tenant, an actor or an agent that is: for them it holds.
  select case when bool_or(s.scope = 'all' and (s.mode = 'run' or (draining_acts and s.mode = 'drain')))
      then coalesce(array_agg(s.scope) filter (where s.scope <> 'all' and not (s.mode = 'run' or (draining_acts and s.mode = 'drain' and s.scope ~ '^(kind|target):'))), '{}') end
    into scopes from comanda.switch s;
  if scopes is null then
    return null;
  end if;
  a := comanda.adoption(request);
  if a.wrong is not null then
    return null;
  end if;
  if a.moved is not null then
    scopes := scopes || 'installation:moved'::text || array(
      select distinct 'kind:' || k.kind from comanda.effect_kind k where k.idempotency <> 'key'
      -- What was published after the moment to which the server went back is not known to be keyed.
      union select 'kind:' || (x ->> 'kind') from jsonb_path_query(request, '$.kinds[*] ? (@.type() == "object")') x
        where not exists (select from comanda.effect_kind k where k.kind = x ->> 'kind'));
  end if;
  return scopes;
end
$fn$;
