-- One look at everything unfinished, and at what has ended as far as that is cheap to count. One row.
-- Costs as much as what is unfinished; ended effects are counted only while their table is small (128 MB, about a million).
with moment as materialized (select clock_timestamp() as now),
arrived as (select count(*)::float8 as n, min(a.effect_id) as first from comanda.effect_arrival a),
queued as (
  select count(*)::float8 as n, min(q.effect_id) filter (where l.trouble is null and (l.owner is null or q.pos > l.inflight_to)) as first,
      count(*) filter (where l.trouble is null and l.owner is not null and q.pos <= l.inflight_to)::float8 as sending
    from comanda.effect_queue q join comanda.lane l on l.lane = q.lane),
-- What stands behind a head in trouble is pending, too.
behind as (
  select min(q.effect_id) as first from comanda.lane l join comanda.effect_queue q on q.lane = l.lane
    where l.trouble is not null and exists (select from comanda.effect_queue p where p.lane = q.lane and p.pos < q.pos)),
lanes as (
  select count(*) filter (where l.owner is not null and l.ready_at > m.now)::float8 as leased,
      count(*) filter (where l.owner is not null and l.ready_at <= m.now)::float8 as expired,
      count(*) filter (where l.owner is null and l.ready_at <= m.now)::float8 as due,
      count(*) filter (where l.owner is null and l.ready_at > m.now and l.parked_by is null)::float8 as backing_off,
      count(*) filter (where l.parked_by is not null)::float8 as parked,
      count(*) filter (where l.trouble = 'unknown')::float8 as unknown,
      count(*) filter (where l.trouble = 'failed')::float8 as blocked,
      min(l.first_at) filter (where l.owner is not null) as sending_since,
      min(coalesce(l.parked_at, l.first_at)) filter (where l.trouble = 'unknown') as unknown_since
    from comanda.lane l cross join moment m),
held as (
  select count(*)::float8 as n, count(*) filter (where w.reason = 'delayed')::float8 as delayed, count(*) filter (where w.reason = 'window')::float8 as in_window,
      count(*) filter (where w.reason = 'held')::float8 as held, min(w.next_at) as next_at
    from comanda.waiting w),
-- The rule of effect_state, from the side of the few that failed.
failed as (
  select count(*)::float8 as n, min(o.settled_at) as since
    from comanda.outcome o join comanda.effect e on e.id = o.effect_id
    where o.state = 'failed'
      and not exists (select from comanda.outcome n where n.effect_id = o.effect_id and n.fence > o.fence)
      and not exists (select from comanda.effect_arrival a where a.effect_id = o.effect_id)
      and not exists (select from comanda.effect_queue q join comanda.lane l on l.lane = q.lane
        where q.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id) and q.effect_id = o.effect_id
          and (l.trouble is distinct from 'failed' or exists (select from comanda.effect_queue p where p.lane = q.lane and p.pos < q.pos))))
select to_char(m.now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now,
    current_database() as database, current_setting('server_version') as server_version, i.schema_version, i.environment,
    (select coalesce(a.wrong, a.moved) from comanda.adoption(null) a) as not_adopted,
    arrived.n + queued.n - queued.sending - lanes.unknown - lanes.blocked as pending, queued.sending, held.n as waiting, held.delayed, held.in_window, held.held,
    lanes.unknown, failed.n as failed,
    case when pg_relation_size('comanda.outcome'::regclass) < 134217728 then (select count(*)::float8 from comanda.outcome o where o.state = 'completed') end as completed,
    case when pg_relation_size('comanda.outcome'::regclass) < 134217728 then (select count(*)::float8 from comanda.outcome o where o.state = 'cancelled') end as cancelled,
    (select count(*)::float8 from comanda.outcome o where o.state = 'completed' and o.settled_at > m.now - interval '1 hour') as completed_last_hour,
    (extract(epoch from m.now - (select e.created_at from comanda.effect e where e.id = least(arrived.first, queued.first, behind.first))) * 1000)::float8 as pending_oldest_ms,
    (extract(epoch from m.now - lanes.sending_since) * 1000)::float8 as sending_oldest_ms,
    (extract(epoch from m.now - lanes.unknown_since) * 1000)::float8 as unknown_oldest_ms,
    (extract(epoch from m.now - failed.since) * 1000)::float8 as failed_oldest_ms,
    (extract(epoch from held.next_at - m.now) * 1000)::float8 as waiting_next_in_ms,
    lanes.leased as lanes_leased, lanes.expired as lanes_expired, lanes.due as lanes_due, lanes.backing_off as lanes_backing_off, lanes.parked as lanes_parked
  from moment m cross join comanda.installation i cross join arrived cross join queued cross join behind cross join lanes cross join held cross join failed;
