-- Has an effect that ended been put on its way again?
create or replace function comanda.is_redriven(effect_id bigint) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $fn$
  select exists (select from comanda.effect e
    where e.id = is_redriven.effect_id and (select o.state from comanda.outcome o where o.effect_id = e.id order by o.fence desc limit 1) = 'failed'
      and (exists (select from comanda.effect_arrival a where a.effect_id = e.id and a.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id))
        or exists (select from comanda.effect_queue q join comanda.lane l on l.lane = q.lane where q.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id) and q.effect_id = e.id
          and (l.trouble is distinct from 'failed' or q.pos <> (select min(h.pos) from comanda.effect_queue h where h.lane = q.lane)))))
$fn$;

-- Takes effects back. Exact while an effect waits (delayed, held, cancel window); afterwards a request that the owner of its lane answers. Holds no row that a relay needs.
-- request: {key, name?, by?, reason?}; answer per effect: cancelled | requested | too late
create or replace function comanda.cancel(request jsonb) returns table (effect_id bigint, name text, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  e record; found_any boolean := false;
begin
  for e in select x.id, x.name from comanda.effect x join comanda.run r on r.id = x.run_id
      where r.key = request ->> 'key' and (request ->> 'name' is null or x.name = request ->> 'name') order by x.id loop
    found_any := true;
    delete from comanda.waiting w where w.effect_id = e.id;
    if found then
      insert into comanda.outcome (effect_id, fence, state, settled_by, reason, attempts)
        values (e.id, nextval('comanda.fence'::regclass), 'cancelled', coalesce(request ->> 'by', 'cancel'), request ->> 'reason', 0);
      return query select e.id, e.name, 'cancelled';
    -- A dead letter that was redriven is on its way again; one that blocks its lane has ended.
    elsif exists (select from comanda.outcome o where o.effect_id = e.id) and not comanda.is_redriven(e.id) then
      return query select e.id, e.name, case (select o.state from comanda.outcome o where o.effect_id = e.id order by o.fence desc limit 1) when 'cancelled' then 'cancelled' else 'too late' end;
    else
      insert into comanda.effect_request (effect_id, action, requested_by, reason) values (e.id, 'cancel', request ->> 'by', request ->> 'reason')
        on conflict (effect_id, action) where answered_at is null do nothing;
      return query select e.id, e.name, 'requested';
    end if;
  end loop;
  if not found_any then
    raise exception 'no effect "%" of decision "%"', coalesce(request ->> 'name', '*'), request ->> 'key' using errcode = 'CM007', hint = 'comanda effects list shows what there is.';
  end if;
end
$fn$;

-- Asks for an act on one effect by a named person: skip (let a blocked lane go on), redrive (try a dead letter again), release (do not wait any longer), resolve (say what became of an unknown outcome).
-- request: {effect, action, by, reason, as?: "completed" | "failed" | "pending", providerId?}. A relay's sweep applies it; until then it stands as requested.
create or replace function comanda.request(request jsonb) returns table (request_id bigint, effect_id bigint, action text, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  new_id bigint; about jsonb;
begin
  if coalesce(request ->> 'by', '') = '' or coalesce(request ->> 'reason', '') = '' then
    raise exception 'a request needs "by" (who) and "reason" (why)' using errcode = 'CM013';
  end if;
  if coalesce(request ->> 'action', '') not in ('skip', 'redrive', 'release', 'resolve')
      or (request ->> 'action' = 'resolve') <> (coalesce(request ->> 'as', '') in ('completed', 'failed', 'pending')) then
    raise exception 'action must be skip, redrive, release, or resolve with "as": completed, failed or pending' using errcode = 'CM009';
  end if;
  if coalesce(request ->> 'effect', '') !~ '^[0-9]{1,18}$' or octet_length(request ->> 'providerId') > 1024 or octet_length(request ->> 'by') > 512
      or octet_length(request ->> 'reason') > 4096 then
    raise exception 'a request needs "effect" (its number); "by" has at most 512 bytes, "reason" 4096, "providerId" 1024' using errcode = 'CM009';
  end if;
  if not exists (select from comanda.effect e where e.id = (request ->> 'effect')::bigint) then
    raise exception 'no effect %', request ->> 'effect' using errcode = 'CM007';
  end if;
  -- About which try: a word about one unknown outcome, or one dead letter, says nothing about the next.
  select case request ->> 'action'
      when 'resolve' then jsonb_build_object('about', (select max(a.fence) from comanda.attempt a where a.effect_id = e.id and a.phase in ('start', 'end')),
        'stands', coalesce((select l.trouble = 'unknown' from comanda.lane l where l.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id)
          and e.id = (select h.effect_id from comanda.effect_queue h where h.lane = l.lane order by h.pos limit 1)), false))
      when 'redrive' then jsonb_build_object('about', o.fence, 'stands', coalesce(o.state = 'failed', false))
      else '{}' end into about
    from comanda.effect e left join lateral (select x.fence, x.state from comanda.outcome x where x.effect_id = e.id order by x.fence desc limit 1) o on true
    where e.id = (request ->> 'effect')::bigint;
  insert into comanda.effect_request (effect_id, action, argument, requested_by, reason)
    values ((request ->> 'effect')::bigint, request ->> 'action', request - array['effect', 'action', 'by', 'reason'] || about, request ->> 'by', request ->> 'reason')
    on conflict (effect_id, action) where answered_at is null do nothing returning effect_request.id into new_id;
  insert into comanda.audit (actor, act, subject, reason, detail) values (request ->> 'by', 'request:' || (request ->> 'action'), 'effect:' || (request ->> 'effect'), request ->> 'reason',
    request - array['by', 'reason']);
  return query select r.id, r.effect_id, r.action, coalesce(r.answer, case when r.id = new_id then 'requested' else 'already requested by ' || r.requested_by end)
    from comanda.effect_request r
    where r.effect_id = (request ->> 'effect')::bigint and r.action = request ->> 'action' order by r.id desc limit 1;
end
$fn$;
