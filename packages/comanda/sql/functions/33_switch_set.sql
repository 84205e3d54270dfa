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
