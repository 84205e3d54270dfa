-- What people and callers asked for about these effects.
select q.id::text as request_id, q.effect_id::text as effect_id, q.action, q.argument ->> 'as' as resolve_as, q.argument ->> 'providerId' as provider_id,
    q.requested_by, q.reason, q.answer,
    to_char(q.requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as requested_at,
    to_char(q.answered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as answered_at
  from comanda.effect_request q
  where q.effect_id = any ($1::bigint[])
  order by q.id;
