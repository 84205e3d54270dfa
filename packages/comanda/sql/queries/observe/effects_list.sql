-- Effects, newest first. $1 state, $2 kind, $3 subject, $4 key (of the decision, of the effect, or explicit), each null for any; $5 limit.
-- Written for one-off plans: a filter that is null folds away, the others reach an index or a table of unfinished work.
select s.effect_id::text as effect_id, s.run_key, s.name, s.kind, s.target, s.state, s.waits_for, s.subject, s.ordering_key, s.idempotency_key,
    coalesce(s.attempts, 0) as attempts, s.blocked_by, s.relay, s.provider_id,
    to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as created_at,
    (extract(epoch from clock_timestamp() - s.created_at) * 1000)::float8 as age_ms,
    to_char(s.next_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as next_at,
    (extract(epoch from s.next_at - clock_timestamp()) * 1000)::float8 as next_in_ms,
    to_char(s.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ended_at
  from comanda.effect_state s
  where ($1::text is null or s.state = $1)
    -- Without a subject or key to go by, the newest of a state come from the table that knows them: at most as many as are asked for.
    and ($1::text is distinct from 'waiting' or $3::text is not null or $4::text is not null or s.effect_id = any (array(
      select w.effect_id from comanda.waiting w where $2::text is null or w.kind = $2 order by w.effect_id desc limit $5::int)))
    and ($1::text is distinct from 'pending' or $3::text is not null or $4::text is not null or s.effect_id = any (array(
      select x.effect_id from (
          select q.effect_id, q.kind from comanda.effect_queue q join comanda.lane l on l.lane = q.lane
            where (l.owner is null or q.pos > l.inflight_to)
              and (l.trouble is null or exists (select from comanda.effect_queue p where p.lane = q.lane and p.pos < q.pos))
          union all select a.effect_id, a.kind from comanda.effect_arrival a) x
        where $2::text is null or x.kind = $2 order by x.effect_id desc limit $5::int)))
    and ($1::text is distinct from 'sending' or s.effect_id = any (array(
      select q.effect_id from comanda.lane l join comanda.effect_queue q on q.lane = l.lane where l.owner is not null)))
    and ($1::text is distinct from 'unknown' or s.effect_id = any (array(
      select q.effect_id from comanda.lane l join comanda.effect_queue q on q.lane = l.lane where l.trouble = 'unknown')))
    and ($1::text is distinct from 'failed' or s.effect_id = any (array(select o.effect_id from comanda.outcome o where o.state = 'failed')))
    and (coalesce($1::text, '') not in ('completed', 'cancelled') or $3::text is not null or $4::text is not null or s.effect_id = any (array(
      select o.effect_id from comanda.outcome o join comanda.effect e on e.id = o.effect_id
        where o.state = $1 and ($2::text is null or e.kind = $2) order by o.effect_id desc limit $5::int)))
    and ($2::text is null or s.kind = $2)
    and ($3::text is null or s.subject = $3)
    and ($4::text is null or s.effect_id = any (array(
      select e.id from comanda.run r join comanda.effect e on e.run_id = r.id where r.key = $4
      union all
      select e.id from comanda.run r join comanda.effect e on e.run_id = r.id
        where r.key = substring($4 from '^(.*)/[^/]*$') and e.name = substring($4 from '[^/]*$')
      union all
      select k.effect_id from comanda.effect_key k where k.key = $4)))
  order by s.effect_id desc
  limit $5::int;
