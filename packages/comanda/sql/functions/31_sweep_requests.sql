-- Applies what people and callers asked for, to lanes that nobody owns, and answers requests whose effect has ended (relay-model R6). The owner of a leased lane does it itself.
-- People come first, and what must wait for its effect's turn is left out: thousands of those must not starve the others.
create or replace function comanda.sweep_requests(batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  q record; n int := 0; said text;
begin
  for q in
    select r.id from comanda.effect_request r
      where r.answered_at is null and (r.action not in ('cancel', 'skip', 'resolve')
        or exists (select from comanda.outcome o where o.effect_id = r.effect_id) and not (r.action = 'cancel' and comanda.is_redriven(r.effect_id))
        or exists (select from comanda.effect e join comanda.lane l on l.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id)
            cross join lateral (select h.effect_id, h.pos from comanda.effect_queue h where h.lane = l.lane order by h.pos limit 1) head
          where e.id = r.effect_id and head.effect_id = e.id and l.owner is null
            and (r.action <> 'cancel' or l.trouble is null and (head.pos <= l.suspect_to and head.pos is distinct from l.cleared_to) is not true))
        -- What will never have a turn is told so at once.
        or r.action = 'skip' and exists (select from comanda.waiting w where w.effect_id = r.effect_id)
        or r.action = 'resolve' and not exists (select from comanda.effect e join comanda.lane l on l.lane = coalesce('k:' || e.ordering_key, 'e:' || e.id)
          where e.id = r.effect_id and l.trouble = 'unknown'))
      order by r.action = 'cancel', r.id limit batch for update of r skip locked
  loop
    begin
      said := comanda.apply_request(q.id);
    exception
      when serialization_failure or deadlock_detected or lock_not_available then said := null;
      -- One that cannot be applied is answered so, and does not stop the sweep for everybody.
      when others then said := 'could not be applied: ' || sqlerrm;
    end;
    if said is not null then
      update comanda.effect_request r set answered_at = clock_timestamp(), answer = said where r.id = q.id;
      n := n + 1;
    end if;
  end loop;
  return n;
end
$fn$;

-- One request: the answer, or null when it must wait (the lane is leased or busy, or the effect is not at its turn).
create or replace function comanda.apply_request(request_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  q comanda.effect_request; e comanda.effect; maybe boolean; last_state text; name text; l comanda.lane; head record; f bigint; verdict text;
begin
  select * into q from comanda.effect_request r where r.id = request_id;
  select * into e from comanda.effect x where x.id = q.effect_id;
  if e.id is null then
    return 'no such effect';
  end if;
  name := coalesce('k:' || e.ordering_key, 'e:' || e.id);
  select x.* into l from comanda.lane x where x.lane = name for update skip locked;
  if l.lane is null then
    if exists (select from comanda.lane x where x.lane = name) then
      return null;
    end if;
  elsif l.owner is not null and l.ready_at > clock_timestamp() then
    -- What it speaks about is over while the lane is at work: said now, so that it cannot wait for the next unknown or the next dead letter.
    return case when q.action = 'resolve' and l.trouble is distinct from 'unknown' then 'not unknown any more'
      when q.action = 'redrive' and (q.argument ->> 'stands')::boolean is false then 'not a dead letter: it had not ended' end;
  end if;
  -- After the lock: what a settle has just written is seen.
  select o.state into last_state from comanda.outcome o where o.effect_id = e.id order by o.fence desc limit 1;
  select r.pos, r.effect_id, r.kind, r.target into head from comanda.effect_queue r where r.lane = l.lane order by r.pos limit 1;

  if q.action = 'resolve' and (q.argument ->> 'stands')::boolean is false and last_state is null then
    return 'not unknown';
  elsif q.action = 'resolve' and (q.argument ->> 'about')::bigint is distinct from (select max(a.fence) from comanda.attempt a where a.effect_id = e.id and a.phase in ('start', 'end'))
      and q.argument ? 'about' and last_state is null then
    return 'not unknown any more: it was tried again since';
  elsif q.action = 'redrive' and ((q.argument ->> 'stands')::boolean is false
      or q.argument ? 'about' and (q.argument ->> 'about')::bigint is distinct from (select o.fence from comanda.outcome o where o.effect_id = e.id order by o.fence desc limit 1)) then
    return case when last_state = 'failed' then 'not a dead letter when it was asked: look at it again' when last_state is null then 'not a dead letter: it has not ended'
      else 'not a dead letter: ' || last_state end;
  end if;
  if q.action = 'cancel' then
    if last_state is not null and not comanda.is_redriven(e.id) then
      return case last_state when 'cancelled' then 'cancelled' else 'too late' end;
    end if;
    -- Parked or back-off head that no send can have reached: cancelled here. Everything else is decided by the owner at its turn.
    if head.effect_id is distinct from e.id or l.owner is not null or (head.pos <= l.suspect_to and head.pos is distinct from l.cleared_to) or l.trouble is not null then
      return null;
    end if;
    verdict := 'cancelled';
  elsif q.action = 'redrive' then
    if last_state is distinct from 'failed' then
      return coalesce('not a dead letter: ' || last_state, 'not a dead letter: it has not ended');
    end if;
    if head.effect_id = e.id and l.trouble = 'failed' then
      update comanda.lane x set ready_at = clock_timestamp(), parked_by = null, parked_at = null, fence = nextval('comanda.fence'::regclass), trouble = null, attempt = 0, lost = 0, looks = 0
        where x.lane = l.lane;
    elsif exists (select from comanda.effect_queue r where r.lane = name and r.effect_id = e.id) or exists (select from comanda.effect_arrival a where a.effect_id = e.id) then
      return 'on its way already';
    elsif e.ordering_key is null then
      -- A lane of its own, so that what is known about earlier tries goes with it: it may have been applied, and its key has lived at most since the decision.
      maybe := exists (select from comanda.outcome o where o.effect_id = e.id and o.maybe_applied);
      f := nextval('comanda.lane_position'::regclass);
      insert into comanda.effect_queue (lane, pos, effect_id, kind, target) values (name, f, e.id, e.kind, e.target);
      insert into comanda.lane (lane, kind, target, ready_at, fence, suspect_to, first_at)
        values (name, e.kind, e.target, clock_timestamp(), nextval('comanda.fence'::regclass), case when maybe then f end, e.created_at);
    elsif exists (select from comanda.outcome o where o.effect_id = e.id and o.maybe_applied) then
      return 'refused: it may have been applied, and its lane has gone on; look at the provider, and decide a correction under a new key';
    elsif not pg_try_advisory_xact_lock(hashtextextended(e.ordering_key, 'comanda.effect_arrival'::regclass::oid::bigint)) then
      return null;  -- as a waiting effect: no place is drawn without the lane's lock
    else
      insert into comanda.effect_arrival (id, effect_id, lane, kind, target) values (nextval('comanda.lane_position'::regclass), e.id, name, e.kind, e.target);
    end if;
    return 'redriven';
  elsif q.action = 'release' then
    if last_state is not null then
      return 'not waiting: it has ended ' || last_state;
    end if;
    select w.reason into verdict from comanda.waiting w where w.effect_id = e.id for update skip locked;
    if verdict = 'held' then
      return 'refused: it waits for an approval or for another effect';
    elsif verdict is not null then
      update comanda.waiting w set next_at = clock_timestamp() where w.effect_id = e.id;
    elsif exists (select from comanda.waiting w where w.effect_id = e.id) then
      return null;
    elsif l.parked_by is not null and head.effect_id = e.id then
      return 'refused: ' || case l.trouble when 'unknown' then 'its outcome is unknown; resolve it' when 'failed' then 'it has failed; redrive or skip it' else l.parked_by || ' is off' end;
    elsif head.effect_id = e.id and l.owner is null and l.ready_at > clock_timestamp() and l.trouble is null
        -- An uncertain try is not repeated sooner than its back-off says: that can be the wait for a request under way.
        and (head.pos <= l.suspect_to and head.pos is distinct from l.cleared_to) is not true then
      update comanda.lane x set ready_at = clock_timestamp(), fence = nextval('comanda.fence'::regclass) where x.lane = l.lane;
    else
      return 'not waiting: it is on its way';
    end if;
    return 'released';
  elsif q.action = 'skip' then
    if head.effect_id is distinct from e.id then
      return case when last_state is not null then 'not blocking: it has ended'
        when exists (select from comanda.waiting w where w.effect_id = e.id) then 'not blocking: it waits; cancel it' end;
    end if;
    if l.owner is not null then
      return null;  -- its lease ran out: whoever claims the lane finds out whether it was sent
    end if;
    if l.trouble is distinct from 'failed' then
      if l.trouble = 'unknown' or (head.pos <= l.suspect_to and head.pos is distinct from l.cleared_to) then
        return 'refused: its outcome is unknown; resolve it first';
      end if;
      verdict := 'cancelled';
    end if;
  elsif q.action = 'resolve' then
    if head.effect_id is distinct from e.id or l.trouble is distinct from 'unknown' then
      return case when last_state is not null then 'not unknown: it has ended ' || last_state when l.trouble is distinct from 'unknown' then 'not unknown' end;
    end if;
    if q.argument ->> 'as' = 'pending' then
      -- A named person says that it was not applied: the head is clean, as after a believed `absent`.
      insert into comanda.attempt (effect_id, fence, phase, attempt, owner, outcome, error_text)
        values (e.id, nextval('comanda.fence'::regclass), 'look', l.attempt, q.requested_by, 'absent', q.reason);
      update comanda.lane x set ready_at = clock_timestamp(), parked_by = null, parked_at = null, fence = nextval('comanda.fence'::regclass), trouble = null, looks = 0, lost = 0, owner = null,
          inflight_to = null, cleared_to = head.pos, attempt = 0 where x.lane = l.lane;
      return 'resolved as pending';
    end if;
    verdict := q.argument ->> 'as';
  else
    return 'no such action';
  end if;

  -- The head leaves the lane; what is behind it is due.
  f := nextval('comanda.fence'::regclass);
  if verdict is not null then
    insert into comanda.outcome (effect_id, fence, state, settled_by, reason, attempts, provider_id)
      values (e.id, f, verdict, coalesce(q.requested_by, 'request'), q.reason, l.attempt, q.argument ->> 'providerId');
  end if;
  delete from comanda.effect_queue r where r.lane = l.lane and r.pos = head.pos;
  select r.pos, r.effect_id, r.kind, r.target into head from comanda.effect_queue r where r.lane = l.lane order by r.pos limit 1;
  if head.pos is null then
    delete from comanda.lane x where x.lane = l.lane;
  else
    update comanda.lane x set kind = head.kind, target = head.target, ready_at = clock_timestamp(), parked_by = null, parked_at = null, fence = f, trouble = null, attempt = 0, lost = 0, looks = 0,
        owner = null, inflight_to = null, suspect_to = case when head.pos <= x.suspect_to then x.suspect_to end, cleared_to = null,
        first_at = case when head.pos <= x.suspect_to then x.first_at end where x.lane = l.lane;
  end if;
  return case q.action when 'skip' then 'skipped' when 'resolve' then 'resolved as ' || verdict else verdict end;
end
$fn$;
