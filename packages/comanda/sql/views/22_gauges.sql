-- Numbers to watch: name, label, value. Cheap: they cost as much as what is unfinished, not as what has ever been.
create or replace view comanda.gauges as
select 'effects_arrived' as name, '' as label, count(*)::float8 as value from comanda.effect_arrival
union all select 'effects_queued', '', count(*) from comanda.effect_queue
union all select 'effects_waiting', w.reason, count(*) from comanda.waiting w group by w.reason
union all select 'lanes_leased', '', count(*) from comanda.lane l where l.owner is not null and l.ready_at > clock_timestamp()
union all select 'lanes_lease_expired', '', count(*) from comanda.lane l where l.owner is not null and l.ready_at <= clock_timestamp()
union all select 'lanes_due', l.kind, count(*) from comanda.lane l where l.owner is null and l.ready_at <= clock_timestamp() group by l.kind
union all select 'lanes_backing_off', l.kind, count(*) from comanda.lane l where l.owner is null and l.ready_at > clock_timestamp() and l.parked_by is null group by l.kind
union all select 'lanes_parked', split_part(l.parked_by, ':', 1), count(*) from comanda.lane l where l.parked_by is not null group by 2
union all select 'effects_unknown', l.kind, count(*) from comanda.lane l where l.trouble = 'unknown' group by l.kind
union all select 'oldest_arrival_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(a.arrived_at)) * 1000, 0) from comanda.effect_arrival a
union all select 'oldest_due_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.ready_at)) * 1000, 0) from comanda.lane l where l.owner is null and l.ready_at <= clock_timestamp()
union all select 'oldest_sending_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.first_at)) * 1000, 0) from comanda.lane l where l.owner is not null
union all select 'oldest_expired_lease_age_ms', '', coalesce(extract(epoch from clock_timestamp() - min(l.ready_at)) * 1000, 0) from comanda.lane l where l.owner is not null and l.ready_at <= clock_timestamp()
union all select 'requests_open', q.action, count(*) from comanda.effect_request q where q.answered_at is null group by q.action
union all select 'targets_open', '', count(*) from comanda.target t where t.breaker <> 'closed'
union all select 'targets_paused', '', count(*) from comanda.target t where t.paused_until > clock_timestamp()
union all select 'target_slots_shared', t.target, coalesce(sum((s ->> 'slots')::float8), 0) from comanda.target t left join lateral jsonb_array_elements(t.shares) s on (s ->> 'until')::float8 > extract(epoch from clock_timestamp()) * 1000 where t.concurrency is not null group by t.target
union all select 'target_rate_shared', t.target, coalesce(sum((s ->> 'rate')::float8), 0) from comanda.target t left join lateral jsonb_array_elements(t.shares) s on (s ->> 'until')::float8 > extract(epoch from clock_timestamp()) * 1000 where t.rate_per_second is not null group by t.target
union all select 'relays_live', '', count(*) from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds'
union all select 'notification_queue_usage', '', pg_notification_queue_usage()
union all select 'switch_version', '', max(s.version) from comanda.switch s;
