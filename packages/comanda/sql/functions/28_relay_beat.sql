-- A relay says that it lives, which kinds it can execute, which switch version it obeys and how it is configured; learns the switch as it is now, and why it holds.
-- The first relay that names an endpoint, on an installation that has none, makes it part of the fingerprint.
-- request: {relay, kinds: [names], softwareVersion, schemaVersion, switchVersion, environment?, endpoint?, stopping?}
create or replace function comanda.relay_beat(request jsonb)
returns table (switch_version bigint, all_mode text, stopped text[], schema_version int, compatible_from int, database_now timestamptz, statement_timeout text, holds text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  a record;
  why text;
begin
  -- claim() and settle() would refuse each call: said at the start.
  if current_setting('transaction_isolation') = 'repeatable read' then
    raise exception 'a relay cannot work in transactions that are REPEATABLE READ' using errcode = 'CM009', hint = 'ALTER ROLE ... SET default_transaction_isolation = ''read committed'' for the role of the relay.';
  end if;
  -- Neither what is due nor what was sent can be trusted, and this beat may be refused as a row.
  select 'row-level security hides rows of ' || string_agg(h.relation, ', ') || ' from the functions of the schema: alter table ... disable row level security' into why
    from comanda.hidden_rows() h where h.from_functions;
  if why is not null then
    return query select null::bigint, null::text, '{all}'::text[], i.schema_version, i.compatible_from, clock_timestamp(), current_setting('statement_timeout'), why
      from (values (1)) one left join comanda.installation i on true;
    return;
  end if;
  a := comanda.adoption(request);
  why := coalesce(a.wrong, a.moved || '; effects of kinds without a key wait');
  if why is null and request ->> 'endpoint' is not null then
    update comanda.installation i set endpoint = request ->> 'endpoint' where i.endpoint is null;
    if found then
      insert into comanda.audit (actor, act, subject, detail) values (request ->> 'relay', 'endpoint', 'installation', jsonb_build_object('endpoint', request ->> 'endpoint'));
    end if;
  end if;
  insert into comanda.relay (id, kinds, software_version, schema_version, switch_version, environment, endpoint, holds)
    values (request ->> 'relay', array(select jsonb_array_elements_text(coalesce(request -> 'kinds', '[]'))), request ->> 'softwareVersion', (request ->> 'schemaVersion')::int,
      coalesce((request ->> 'switchVersion')::bigint, 0), request ->> 'environment', request ->> 'endpoint', why)
    on conflict (id) do update set kinds = excluded.kinds, switch_version = excluded.switch_version, beat_at = clock_timestamp(),
      environment = excluded.environment, endpoint = excluded.endpoint, holds = excluded.holds,
      stopped_at = case when coalesce((request ->> 'stopping')::boolean, false) then clock_timestamp() end;
  return query select (select max(s.version) from comanda.switch s), (select s.mode from comanda.switch s where s.scope = 'all'),
      coalesce(comanda.stopped(false, request - 'kinds'), '{all}'), i.schema_version, i.compatible_from, clock_timestamp(), current_setting('statement_timeout'), why
    from (values (1)) one left join comanda.installation i on true;
end
$fn$;
