-- Relays that have not said goodbye, newest first. `live` = heard within 30 seconds; the others are silent: dead, or paused.
select r.id, r.kinds, r.software_version, r.schema_version, r.switch_version::text as switch_version,
    to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as started_at,
    to_char(r.beat_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as beat_at,
    (extract(epoch from clock_timestamp() - r.beat_at) * 1000)::float8 as silent_ms,
    r.beat_at > clock_timestamp() - interval '30 seconds' as live
  from comanda.relay r
  where r.stopped_at is null
  order by r.started_at desc, r.id;
