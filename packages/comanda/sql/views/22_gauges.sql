-- Numbers to watch: name, label, value. Cheap: they cost as much as what is unfinished, not as what has ever been.
create or replace view comanda.gauges as
-- The lanes are read once, however many numbers come of them.
with lanes as materialized (
  select l.kind, l.owner is not null as leased, l.ready_at <= clock_timestamp() as due, split_part(l.parked_by, ':', 1) as parked, l.trouble,
      count(*) as n, min(l.ready_at) as ready_at, min(l.first_at) as first_at, min(l.parked_at) as parked_at
    from comanda.lane l group by 1, 2, 3, 4, 5
)
select 'effects_arrived' as name, '' as label, count(*)::float8 as value from comanda.effect_arrival
union all select 'effects_queued', '', count(*) from comanda.effect_queue
union all select 'effects_waiting', w.reason, count(*) from comanda.waiting w group by w.reason
union all select 'lanes_leased', '', coalesce(sum(l.n), 0) from lanes l where l.leased and not l.due
union all select 'lanes_lease_expired', '', coalesce(sum(l.n), 0) from lanes l where l.leased and l.due
union all select 'lanes_due', l.kind, sum(l.n) from lanes l where not l.leased and l.due group by l.kind
union all select 'lanes_backing_off', l.kind, sum(l.n) from lanes l where not l.leased and not l.due and l.parked is null group by l.kind
union all select 'lanes_parked', l.parked, sum(l.n) from lanes l where l.parked is not null group by l.parked
union all select 'effects_unknown', l.kind, sum(l.n) from lanes l where l.trouble = 'unknown' group by l.kind
union all select 'oldest_arrival_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(a.arrived_at)) * 1000, 0) from comanda.effect_arrival a
union all select 'oldest_due_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.ready_at)) * 1000, 0) from lanes l where not l.leased and l.due
union all select 'oldest_sending_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.first_at)) * 1000, 0) from lanes l where l.leased
union all select 'oldest_expired_lease_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.ready_at)) * 1000, 0) from lanes l where l.leased and l.due
union all select 'requests_open', q.action, count(*) from comanda.effect_request q where q.answered_at is null group by q.action
union all select 'targets_open', '', count(*) from comanda.target t where t.breaker <> 'closed'
union all select 'targets_paused', '', count(*) from comanda.target t where t.paused_until > clock_timestamp()
union all select 'target_slots_shared', t.target, coalesce(sum((s ->> 'slots')::float8), 0) from comanda.target t left join lateral jsonb_array_elements(t.shares) s on (s ->> 'until')::float8 > extract(epoch from clock_timestamp()) * 1000 where t.concurrency is not null group by t.target
union all select 'target_rate_shared', t.target, coalesce(sum((s ->> 'rate')::float8), 0) from comanda.target t left join lateral jsonb_array_elements(t.shares) s on (s ->> 'until')::float8 > extract(epoch from clock_timestamp()) * 1000 where t.rate_per_second is not null group by t.target
union all select 'relays_live', '', count(*) from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds'
union all select 'lanes_blocked', l.kind, sum(l.n) from lanes l where l.parked is not null and l.trouble = 'failed' group by l.kind
union all select 'oldest_blocked_age_ms', l.kind, extract(epoch from clock_timestamp() - min(l.parked_at)) * 1000 from lanes l where l.parked is not null and l.trouble is not null group by l.kind
union all select 'lanes_without_relay', l.kind, sum(l.n) from lanes l where l.due
  and not exists (select from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds' and l.kind = any (b.kinds)) group by l.kind
-- Probes by index for each failed outcome, whatever the planner thinks of their number: never the whole of effect or outcome.
union all select 'dead_letters', k.kind, count(*) from comanda.outcome o
  cross join lateral (select e.kind from comanda.effect e where e.id = o.effect_id and e.ordering_key is null offset 0) k
  where o.state = 'failed' and o.fence = (select max(n.fence) from comanda.outcome n where n.effect_id = o.effect_id)
    and (select count(*) from comanda.lane l where l.lane = 'e:' || o.effect_id) = 0 and (select count(*) from comanda.effect_arrival a where a.effect_id = o.effect_id) = 0 group by k.kind
union all select 'effects_waiting_overdue', w.reason, count(*) from comanda.waiting w where w.next_at < clock_timestamp() - interval '10 seconds' and w.reason <> 'held' group by w.reason
union all select 'oldest_request_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(q.requested_at)) * 1000, 0) from comanda.effect_request q where q.answered_at is null
union all select 'relays_holding', '', count(*) from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds' and b.holds is not null
-- How long it lasts is visible to members of pg_read_all_stats and for sessions of one's own role; how many transactions it holds back, to everybody.
union all select 'oldest_transaction_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(t.xact_start)) * 1000, 0) from pg_stat_activity t
  where t.datname = current_database() and t.pid <> pg_backend_pid() and coalesce(t.backend_xmin, t.backend_xid) is not null and coalesce(t.backend_type, 'client backend') = 'client backend'
union all select 'transactions_held_back', '', coalesce(max(greatest(age(t.backend_xmin), age(t.backend_xid))), 0) from pg_stat_activity t
  where t.datname = current_database() and t.pid <> pg_backend_pid() and coalesce(t.backend_type, 'client backend') = 'client backend'
union all select 'notification_queue_usage', '', pg_notification_queue_usage()
union all select 'switch_version', '', max(s.version) from comanda.switch s;
