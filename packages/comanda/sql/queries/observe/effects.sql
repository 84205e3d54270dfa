-- Effects by id, with everything that is known about where they are now.
select s.effect_id::text as effect_id, s.run_key, s.name, s.kind, s.kind_version, s.target, s.ordering_key, s.subject, s.subject_version::text as subject_version,
    s.idempotency_key, s.state, s.waits_for, w.approval_id::text as approval_id, w.prerequisite_id::text as prerequisite_id,
    coalesce(s.attempts, 0) as attempts, k.max_attempts, k.idempotency, k.risk, s.blocked_by, s.relay, s.fence::text as fence, s.provider_id,
    to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
    (extract(epoch from clock_timestamp() - s.created_at) * 1000)::float8 as age_ms,
    to_char(s.next_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as next_at,
    (extract(epoch from s.next_at - clock_timestamp()) * 1000)::float8 as next_in_ms,
    to_char(s.parked_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as parked_at,
    (extract(epoch from clock_timestamp() - s.parked_at) * 1000)::float8 as parked_ms,
    to_char(s.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ended_at,
    s.ended_by, s.ended_reason, octet_length(e.payload) as payload_bytes, e.payload, e.headers
  from comanda.effect_state s
  join comanda.effect e on e.id = s.effect_id
  left join comanda.waiting w on w.effect_id = s.effect_id
  left join comanda.effect_kind k on k.kind = s.kind and k.version = s.kind_version
  where s.effect_id = any ($1::bigint[])
  order by s.effect_id;
