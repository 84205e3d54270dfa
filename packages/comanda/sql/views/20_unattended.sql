-- Structural holes: unfinished work that nothing will ever look at again. Empty at all times (P2). One statement over one snapshot. Overdue work is `attention`, not this.
create or replace view comanda.unattended as
select 'effect is nowhere' as what, e.id as effect_id, e.id::text as thing from comanda.effect e
  where e.id > (select m.effect_id from comanda.ended_mark m) and not exists (select from comanda.outcome o where o.effect_id = e.id) and not exists (select from comanda.effect_arrival t where t.effect_id = e.id)
    and not exists (select from comanda.effect_queue r where r.effect_id = e.id) and not exists (select from comanda.waiting w where w.effect_id = e.id)
union all select 'queued without a lane', r.effect_id, r.lane from comanda.effect_queue r where not exists (select from comanda.lane l where l.lane = r.lane)
union all select 'lane without effects', null, l.lane from comanda.lane l where not exists (select from comanda.effect_queue r where r.lane = l.lane)
union all select 'lane differs from its head', h.effect_id, l.lane from comanda.lane l
  cross join lateral (select r.kind, r.target, r.effect_id from comanda.effect_queue r where r.lane = l.lane order by r.pos limit 1) h where (h.kind, h.target) <> (l.kind, l.target)
union all select 'parked without a live reason', null, l.lane from comanda.lane l
  where l.parked_by is not null and l.trouble is null and l.parked_by !~ '^switch:'
union all select 'held without an approval or prerequisite', w.effect_id, w.effect_id::text from comanda.waiting w
  where w.reason = 'held' and not exists (select from comanda.approval a where a.id = w.approval_id and a.state in ('open', 'approved'))
    and not exists (select from comanda.effect p where p.id = w.prerequisite_id and not exists (select from comanda.outcome o where o.effect_id = p.id))
union all select 'run without lease', null, r.key from comanda.run r where r.state = 'processing' and r.lease_owner is null
union all select 'run awaits a human without an open approval', null, r.key from comanda.run r
  where r.state = 'awaiting_human' and not exists (select from comanda.approval a where a.run_id = r.id and a.state = 'open')
union all select 'run to be retried without a next moment', null, r.key from comanda.run r where r.state = 'failed_retryable' and r.next_at is null
union all select 'request that nobody will answer', q.effect_id, q.action from comanda.effect_request q
  where q.answered_at is null and q.requested_at < clock_timestamp() - interval '1 minute' and q.action = 'cancel'
    and exists (select from comanda.outcome o where o.effect_id = q.effect_id)
    and exists (select from comanda.relay b where b.stopped_at is null and b.beat_at > clock_timestamp() - interval '30 seconds');
