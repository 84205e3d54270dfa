-- One row per effect with the state it is in now, in the product's own words. A sending effect whose lease ran out is sending until somebody takes its lane over: it may have been sent.
create or replace view comanda.effect_state as
select e.id as effect_id, r.key as run_key, r.id as run_id, r.subject, e.name, e.kind, e.kind_version, e.target, e.ordering_key, e.subject_version,
    coalesce(e.explicit_key, r.key || '/' || e.name) as idempotency_key,
    case
      when w.effect_id is not null then 'waiting'
      when a.effect_id is not null then 'pending'
      when q.head and l.trouble is not null then l.trouble
      when q.effect_id is not null and l.owner is not null and q.pos <= l.inflight_to then 'sending'
      when q.effect_id is not null then 'pending'
      else coalesce(o.state, 'pending') end as state,
    w.reason as waits_for,
    case when w.effect_id is not null then w.next_at when q.head and l.parked_by is null then l.ready_at end as next_at,
    case when q.effect_id is null then o.attempts when q.head then l.attempt else 0 end as attempts,
    case when q.effect_id is not null and not q.head then 'behind effect ' || h.effect_id when q.head then l.parked_by end as blocked_by,
    l.parked_at, l.owner as relay, l.fence, o.state as ended_as, o.settled_at as ended_at, o.settled_by as ended_by, o.reason as ended_reason, o.provider_id, e.created_at
  from comanda.effect e
  join comanda.run r on r.id = e.run_id
  left join comanda.waiting w on w.effect_id = e.id
  left join comanda.effect_arrival a on a.effect_id = e.id
  left join comanda.lane l on l.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id)
  left join lateral (select x.effect_id, x.pos from comanda.effect_queue x where x.lane = l.lane order by x.pos limit 1) h on true
  left join lateral (select x.effect_id, x.pos, x.pos = h.pos as head from comanda.effect_queue x where x.lane = l.lane and x.effect_id = e.id limit 1) q on true
  -- A redriven effect has not ended, whatever its older outcome says.
  left join lateral (select x.* from comanda.outcome x where x.effect_id = e.id and a.effect_id is null and (q.effect_id is null or (q.head and l.trouble = 'failed'))
    order by x.fence desc limit 1) o on true;
