-- Everything that waits for a person, or should have moved by itself and did not: since when, and what to do.
create or replace view comanda.attention as
select 'blocked lane' as what, h.effect_id, r.key as run_key, l.kind, l.target, l.lane, l.parked_by as reason, l.parked_at as since,
    'dead letter at the head of its lane: redrive it, or skip it so that what is behind it goes on' as what_to_do
  from comanda.lane l
  cross join lateral (select q.effect_id from comanda.effect_queue q where q.lane = l.lane order by q.pos limit 1) h
  join comanda.effect e on e.id = h.effect_id join comanda.run r on r.id = e.run_id
  where l.parked_by is not null and l.trouble = 'failed'
union all
select 'unknown outcome', h.effect_id, r.key, l.kind, l.target, l.lane, l.parked_by, l.parked_at,
    'it may have happened: look at the provider, then resolve it as completed, failed or pending'
  from comanda.lane l
  cross join lateral (select q.effect_id from comanda.effect_queue q where q.lane = l.lane order by q.pos limit 1) h
  join comanda.effect e on e.id = h.effect_id join comanda.run r on r.id = e.run_id
  where l.parked_by is not null and l.trouble = 'unknown'
union all
select 'dead letter', o.effect_id, r.key, e.kind, e.target, null, o.reason, o.settled_at, 'it can never succeed as it is: redrive it after repairing the cause, or decide a correction under a new key'
  from comanda.outcome o join comanda.effect e on e.id = o.effect_id join comanda.run r on r.id = e.run_id
  where o.state = 'failed' and e.ordering_key is null
    and not exists (select from comanda.outcome n where n.effect_id = o.effect_id and n.fence > o.fence)
    and not exists (select from comanda.lane l where l.lane = 'e:' || o.effect_id) and not exists (select from comanda.effect_arrival a where a.effect_id = o.effect_id)
union all
select 'switched off', null, null, null, null, null, s.scope || ' is ' || s.mode || coalesce(': ' || s.reason, ''), s.set_at, 'turn it on again when the reason is gone: comanda switch run ' || s.scope
  from comanda.switch s where s.mode <> 'run'
union all
select 'switch is missing', null, null, null, null, null, 'there is no row for the scope all, so nothing is claimed and nothing is sent', null, 'set it: comanda switch run all'
  where not exists (select from comanda.switch s where s.scope = 'all')
union all
select 'not getting through', h.effect_id, r.key, l.kind, l.target, l.lane, 'tried again and again since its first claim', l.first_at,
    'look at its attempts: comanda explain; repair the target or its credentials, or stop the target with the switch'
  from comanda.lane l
  cross join lateral (select q.effect_id from comanda.effect_queue q where q.lane = l.lane order by q.pos limit 1) h
  join comanda.effect e on e.id = h.effect_id join comanda.run r on r.id = e.run_id
  where l.first_at < clock_timestamp() - interval '1 hour' and l.parked_by is null
union all
select 'not adopted', null, null, null, null, null, coalesce(a.wrong, a.moved), null,
    case when a.wrong is not null then 'nothing leaves from here. If this is a copy, leave it so; if it is the real one: comanda adopt'
      else 'effects of kinds without a key wait. Compare what was sent last with the providers, then: comanda adopt --accept-timeline' end
  from comanda.adoption(null) a where a.wrong is not null or a.moved is not null
union all
select 'a relay holds', null, null, null, null, null, b.id || ': ' || b.holds, b.started_at, 'configure it for this installation, or, when its configuration is right: comanda adopt'
  from comanda.relay b cross join comanda.adoption(null) a
  where b.holds is not null and a.wrong is null and a.moved is null and b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds'
union all
select 'rows are hidden', null, null, null, null, null,
    case when h.from_functions then 'row-level security hides rows of ' || h.relation || ' from the functions of this schema: nothing is sent'
      else 'row-level security is on for ' || h.relation || ', without a policy: who reads it directly sees no row' end, null,
    'alter table ' || h.relation || ' disable row level security, no force row level security'
  from comanda.hidden_rows() h
union all
select 'no relay for this kind', null, null, l.kind, min(l.target), null, count(*) || ' lanes wait and no live relay can execute this kind', min(l.ready_at), 'deploy a relay that knows this kind; nothing is lost meanwhile'
  from comanda.lane l
  where l.parked_by is null and l.ready_at < clock_timestamp() - interval '10 seconds'
    and not exists (select from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds' and l.kind = any (b.kinds))
  group by l.kind
union all
select 'no relay at all', null, null, null, null, null, count(*) || ' effects have arrived or are due and no relay is live', min(d.since), 'start a relay: comanda relay'
  from (select a.arrived_at as since from comanda.effect_arrival a union all select w.next_at from comanda.waiting w where w.reason <> 'held' and w.next_at < clock_timestamp()) d
  where not exists (select from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds')
  having min(d.since) < clock_timestamp() - interval '10 seconds'
union all
select 'breaker open', null, null, null, t.target, null, t.breaker_reason, t.opened_at,
    'repair the target or our credentials for it; a probe finds out by itself. To try now: comanda targets close'
  from comanda.target t where t.breaker <> 'closed'
union all
select 'target paused', null, null, null, t.target, null, coalesce(t.pause_reason, 'paused'), t.paused_at, 'nothing is sent to it until the pause is over; to go on now: comanda targets resume'
  from comanda.target t where t.paused_until > clock_timestamp() and t.paused_until - coalesce(t.paused_at, clock_timestamp()) > interval '5 minutes'
union all
select 'lease expired', null, null, l.kind, min(l.target), null, count(*) || ' lanes were left by their relay and nobody has taken them over', min(l.ready_at),
    'start or repair the relays of this kind; what was under way is looked up or repeated by the next one'
  from comanda.lane l where l.owner is not null and l.ready_at < clock_timestamp() - interval '10 seconds'
  group by l.kind
union all
select 'overdue', null, null, w.kind, min(w.target), null, count(*) || ' effects are due and were not moved', min(w.next_at), 'the sweep of the relays does not get through: look at their logs'
  from comanda.waiting w where w.reason <> 'held' and w.next_at < clock_timestamp() - interval '1 minute'
  group by w.kind
union all
select 'old transaction', null, null, null, null, null,
    'process ' || t.pid || ' (' || coalesce(nullif(t.application_name, ''), 'without a name') || ', ' || coalesce(t.state, 'state not visible to this role') || ') has held an old snapshot for '
      || coalesce((extract(epoch from clock_timestamp() - t.xact_start))::bigint || ' s', greatest(age(t.backend_xmin), age(t.backend_xid)) || ' transactions (membership in pg_read_all_stats would show the time)'),
    t.xact_start, 'dead rows cannot be cleaned up while it lasts, so that claims get slower: end it, or pg_terminate_backend(' || t.pid || ')'
  from pg_stat_activity t
  where t.datname = current_database() and t.pid <> pg_backend_pid() and coalesce(t.backend_xmin, t.backend_xid) is not null and coalesce(t.backend_type, 'client backend') = 'client backend'
    and case when t.xact_start is not null then t.xact_start < clock_timestamp() - interval '1 minute' else greatest(age(t.backend_xmin), age(t.backend_xid)) > 10000 end
union all
select 'old transaction', null, null, null, null, null, 'the prepared transaction ' || quote_literal(p.gid) || ' has been open for ' || (extract(epoch from clock_timestamp() - p.prepared))::bigint || ' s', p.prepared,
    'dead rows cannot be cleaned up while it lasts, so that claims get slower: commit prepared or rollback prepared it'
  from pg_prepared_xacts p where p.database = current_database() and p.prepared < clock_timestamp() - interval '1 minute'
union all
select 'notification queue', null, null, null, null, null, round(pg_notification_queue_usage()::numeric * 100) || ' % of the notification queue is used', null,
    'a session listens and stays in an open transaction: end it'
  where pg_notification_queue_usage() > 0.5;
