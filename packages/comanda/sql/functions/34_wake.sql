-- Until when some relay polls anyway (milliseconds from now; 0 = it sleeps, -1 = always: decisions never notify). A sequence: seen at once, by every snapshot, also behind poolers.
create or replace function comanda.set_awake(for_ms float8) returns void
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $fn$
  select setval('comanda.awake'::regclass, case when for_ms < 0 then 9223372036854775807 when for_ms = 0 then 1
    else (extract(epoch from clock_timestamp()) * 1000 + for_ms)::bigint end)
$fn$;

-- The channel on which decisions of this installation notify. The notification carries nothing: it is a hint, polling is the truth.
create or replace function comanda.wake_channel() returns text
language sql stable security definer set search_path = pg_catalog, pg_temp
as $fn$ select 'comanda_' || 'comanda.effect_arrival'::regclass::oid::bigint $fn$;
