-- Leases due lanes of the caller's kinds and returns the head's prefix of equal kind and target. An expired lease is simply a due lane.
-- request: {relay, kinds: [{kind, lanes, batch}], leaseMs}. `batch` is 1 for non-idempotent kinds.
create or replace function comanda.claim(request jsonb)
returns table (lane text, fence bigint, pos bigint, effect_id bigint, kind text, target text, attempt int, suspect boolean, cancel boolean, lost int, looks int, trouble text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  who text := request ->> 'relay';
  lease interval := (request ->> 'leaseMs')::float8 * interval '1 millisecond';
  stopped text[] := comanda.stopped(false, request);
  names text[]; counts int[]; batches int[]; offs boolean[];
  ours text[]; parked text[];
  closed text[]; until timestamptz[]; probing text[];
  f bigint;
begin
  if who is null or lease is null then
    raise exception 'claim needs {relay, leaseMs, kinds}' using errcode = 'CM009';
  end if;
  -- Each statement below relies on seeing what was committed before it took its locks.
  if current_setting('transaction_isolation') = 'repeatable read' then
    raise exception 'a relay cannot work in transactions that are REPEATABLE READ' using errcode = 'CM009', hint = 'ALTER ROLE ... SET default_transaction_isolation = ''read committed'' for the role of the relay.';
  end if;
  perform set_config('synchronous_commit', 'on', true);
  -- What is off is not sent, and is looked up all the same: may_send() stands before every send. Not on a copy, not after a failover, and not where the switch or other rows cannot be read.
  if stopped is null and (comanda.rows_hidden() or not exists (select from comanda.switch s where s.scope = 'all') or exists (select from comanda.adoption(request) a where a.wrong is not null or a.moved is not null)) then
    return;
  end if;
  select array_agg(k.name), array_agg(k.lanes), array_agg(k.batch), array_agg(k.off) into names, counts, batches, offs
    from (select x ->> 'kind' as name, greatest(coalesce((x ->> 'lanes')::int, 1), 0) as lanes, greatest(coalesce((x ->> 'batch')::int, 1), 1) as batch,
        coalesce(('kind:' || (x ->> 'kind')) = any (stopped), true) as off from jsonb_array_elements(request -> 'kinds') x) k
    where not (k.off and coalesce('installation:moved' = any (stopped), false));
  if names is null then
    return;
  end if;
  stopped := coalesce(stopped, '{}');
  select coalesce(array_agg(c.target) filter (where not c.probing), '{}'), array_agg(c.until) filter (where not c.probing), coalesce(array_agg(c.target) filter (where c.probing), '{}')
    into closed, until, probing from comanda.closed_targets(who) c;
  with due as materialized (
    select x.lane, x.target, x.looked_up from unnest(names, counts, offs) q (kind, n, off)
      cross join lateral (select l.lane, l.target, coalesce(l.trouble = 'unknown', false) as looked_up from comanda.lane l where not q.off and l.kind = q.kind and l.ready_at <= now()
        order by l.ready_at limit q.n for update skip locked) x
    union all
    select x.lane, x.target, true from unnest(names, counts, offs) q (kind, n, off)
      cross join lateral (select l.lane, l.target from comanda.lane l where q.off and l.kind = q.kind and l.ready_at <= now() and l.trouble = 'unknown' order by l.ready_at limit q.n for update skip locked) x),
  sorted as (select d.lane, d.target = any (closed) or not d.looked_up and ('target:' || d.target) = any (stopped) as away from due d)
  select array_agg(s.lane) filter (where not s.away), array_agg(s.lane) filter (where s.away) into ours, parked from sorted s;
  if probing <> '{}' and ours is not null then
    -- The probe of a half-open breaker is one lane.
    select array_agg(x.lane) filter (where x.n = 1 or not x.target = any (probing)), parked || array_agg(x.lane) filter (where x.n > 1 and x.target = any (probing)) into ours, parked
      from (select l.lane, l.target, row_number() over (partition by l.target order by l.ready_at, l.lane) as n from comanda.lane l where l.lane = any (ours)) x;
  end if;
  if parked is not null then
    if closed <> '{}' then
      -- More of the same at once, so that a closed target does not starve the lanes of others behind it.
      select parked || array_agg(x.lane) into parked from unnest(names) q (kind)
        cross join lateral (select l.lane from comanda.lane l where l.kind = q.kind and l.ready_at <= now() and l.target = any (closed) and not l.lane = any (parked) order by l.ready_at limit 500 for update skip locked) x;
    end if;
    -- Parking an expired lease keeps its evidence: the owner was the only sign that it was held (chaos R4). A closed target only defers: the lane comes back by itself, soon enough for a person's `close` or `resume`.
    update comanda.lane l set ready_at = case when p.off then 'infinity' else least(p.back, now() + interval '2 seconds') + random() * interval '250 milliseconds' end,
        parked_by = case when p.off then 'switch:target:' || l.target end, parked_at = case when p.off then clock_timestamp() end,
        suspect_to = case when l.owner is not null then greatest(l.inflight_to, l.suspect_to) else l.suspect_to end,
        cleared_to = case when l.owner is null then l.cleared_to end, inflight_to = null, owner = null,
        lost = case when l.owner is not null then greatest(l.lost, 1) else l.lost end,
        looks = case when l.owner is null or l.trouble is not null then l.looks else 0 end
      from (select x.lane, ('target:' || x.target) = any (stopped) and x.trouble is distinct from 'unknown' as off, greatest((select u.b from unnest(closed, until) u (t, b) where u.t = x.target limit 1), now()) as back
        from comanda.lane x where x.lane = any (parked)) p where l.lane = p.lane;
  end if;
  if ours is null then
    return;
  end if;
  f := nextval('comanda.fence'::regclass);
  return query
    with held as materialized (
      select u.lane, l.kind, l.target, l.trouble, case when l.owner is null or l.trouble is not null then l.looks else 0 end as looks,
          case when l.owner is not null then greatest(l.inflight_to, l.suspect_to) else l.suspect_to end as suspect_to,
          case when l.owner is null then l.cleared_to end as cleared_to,
          l.attempt + (l.trouble is distinct from 'unknown')::int as attempt,
          case when l.owner is null then l.lost when l.trouble = 'unknown' then l.lost + 1 else greatest(l.lost, 1) end as lost, q.pos, q.effect_id, q.rn
        from unnest(ours) u (lane)
        cross join lateral (select * from comanda.lane x where x.lane = u.lane limit 1) l
        left join lateral (
          select z.pos, z.effect_id, z.rn from (
            select r.pos, r.effect_id, row_number() over (order by r.pos) as rn, bool_and(r.kind = l.kind and r.target = l.target) over (order by r.pos) as same
              from (select * from comanda.effect_queue r0 where r0.lane = u.lane order by r0.pos
                limit case when l.owner is not null or l.suspect_to is not null or l.trouble is not null then 1
                  else (select b.n from unnest(names, batches) b (kind, n) where b.kind = l.kind limit 1) end) r) z
            where z.same) q on true),
      leased as (
        update comanda.lane x set ready_at = now() + lease, fence = f, attempt = x.attempt + (x.trouble is distinct from 'unknown')::int, owner = who,
            first_at = coalesce(x.first_at, now()), inflight_to = coalesce((select max(h.pos) from held h where h.lane = x.lane), x.inflight_to, 0),
            suspect_to = case when x.owner is not null then greatest(x.inflight_to, x.suspect_to) else x.suspect_to end,
            cleared_to = case when x.owner is null then x.cleared_to end,
            -- A start as a suspect is counted when it is sent (may_send); a look-up that kills its process is counted here.
            lost = case when x.owner is null then x.lost when x.trouble = 'unknown' then x.lost + 1 else greatest(x.lost, 1) end,
            looks = case when x.owner is null or x.trouble is not null then x.looks else 0 end
          where x.lane = any (ours))
    select h.lane, f, h.pos, h.effect_id, h.kind, h.target, case when h.rn = 1 then h.attempt else 1 end,
        coalesce(h.pos <= h.suspect_to and h.pos is distinct from h.cleared_to, false),
        exists (select from comanda.effect_request q where q.effect_id = h.effect_id and q.answered_at is null and q.action = 'cancel'),
        case when h.rn = 1 then h.lost else 0 end, case when h.rn = 1 then h.looks else 0 end, case when h.rn = 1 then h.trouble end
      from held h order by h.pos nulls last;
end
$fn$;
