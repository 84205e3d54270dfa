-- How these effects have ended; more than one row where a dead letter was tried again.
select o.effect_id::text as effect_id, o.fence::text as fence, o.state, o.settled_by, o.reason, o.attempts, o.provider_id, o.maybe_applied,
    to_char(o.settled_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as settled_at
  from comanda.outcome o
  where o.effect_id = any ($1::bigint[])
  order by o.effect_id, o.fence;
