-- Every try of these effects, in the order in which it was written down.
select a.effect_id::text as effect_id, a.fence::text as fence, a.phase, a.attempt, a.owner, a.outcome, a.provider_id, a.status, a.error_class, a.error_text,
    a.duration_ms, to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at,
    (extract(epoch from clock_timestamp() - a.at) * 1000)::float8 as ms_ago
  from comanda.attempt a
  where a.effect_id = any ($1::bigint[])
  order by a.effect_id, a.at, a.phase desc
  limit 2000;
