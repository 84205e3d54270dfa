-- Leases due lanes of the caller's kinds and returns the head's prefix of equal kind and target. An expired lease is simply a due lane.
-- request: {relay, kinds: [{kind, lanes, batch}], leaseMs}. `batch` is 1 for non-idempotent kinds.
create or replace function comanda.claim(request jsonb)
returns table (lane text, fence bigint, pos bigint, effect_id bigint, kind text, target text, attempt int, suspect boolean, cancel boolean, lost int, looks int, trouble text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  who text := request ->> 'relay';
  lease interval := (request ->> 'leaseMs')::float8 * interval '1 millisecond';
  stopped text[] := comanda.stopped(false);
  names text[]; counts int[]; batches int[];
  ours text[]; parked text[];
  f bigint;
begin
  if who is null or lease is null then
    raise exception 'claim needs {relay, leaseMs, kinds}' using errcode = 'CM009';
  end if;
  perform set_config('synchronous_commit', 'on', true);
  if stopped is null then
    return;
  end if;
  select array_agg(x ->> 'kind'), array_agg(greatest(coalesce((x ->> 'lanes')::int, 1), 0)), array_agg(greatest(coalesce((x ->> 'batch')::int, 1), 1)) into names, counts, batches
    from jsonb_array_elements(request -> 'kinds') x where not ('kind:' || (x ->> 'kind')) = any (stopped);
  if names is null then
    return;
  end if;
  with due as materialized (
    select x.lane, x.target from unnest(names, counts) q (kind, n)
      cross join lateral (select l.lane, l.target from comanda.lane l where l.kind = q.kind and l.ready_at <= now() order by l.ready_at limit q.n for update skip locked) x)
  select array_agg(d.lane) filter (where not ('target:' || d.target) = any (stopped)), array_agg(d.lane) filter (where ('target:' || d.target) = any (stopped))
    into ours, parked from due d;
  if parked is not null then
    -- Parking an expired lease keeps its evidence: the owner was the only sign that it was held (chaos R4).
    update comanda.lane l set ready_at = 'infinity', parked_by = 'switch:target:' || l.target, parked_at = clock_timestamp(),
        suspect_to = case when l.owner is not null then greatest(l.inflight_to, l.suspect_to) else l.suspect_to end,
        cleared_to = case when l.owner is null then l.cleared_to end, inflight_to = null, owner = null,
        lost = case when l.owner is not null then greatest(l.lost, 1) else l.lost end,
        looks = case when l.owner is null or l.trouble is not null then l.looks else 0 end
      where l.lane = any (parked);
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
