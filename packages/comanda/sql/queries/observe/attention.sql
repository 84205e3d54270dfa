-- Everything that waits for a person, or should have moved by itself and did not; oldest first.
select a.what, a.effect_id::text as effect_id, a.run_key, a.kind, a.target, a.lane, a.reason,
    to_char(a.since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as since,
    (extract(epoch from clock_timestamp() - a.since) * 1000)::float8 as since_ms, a.what_to_do
  from comanda.attention a
  order by a.what, a.since nulls last, a.effect_id
  limit $1::int;
