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
