-- The scopes that are off, as the switch says now. Null = act on nothing: the row for `all` is missing, unreadable or not `run` (or `drain`, when that is allowed).
create or replace function comanda.stopped(draining_acts boolean) returns text[]
language sql stable set search_path = pg_catalog, pg_temp
as $fn$
  select case when bool_or(s.scope = 'all' and (s.mode = 'run' or (draining_acts and s.mode = 'drain')))
    then coalesce(array_agg(s.scope) filter (where s.scope <> 'all' and not (s.mode = 'run' or (draining_acts and s.mode = 'drain'))), '{}') end
  from comanda.switch s
$fn$;
