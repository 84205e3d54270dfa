-- Keeps what a late worker learned about work that it no longer owns: an input to reconcile. An answer that was settled already is not kept twice.
-- An outcome that the relay had to guess when it left the handler behind (unknown, retry) does not stand in the way of what the handler says afterwards.
-- request: {relay, items: [{fence, effect, attempt, outcome, providerId?, status?, errorClass?, errorText?, response?, ms?}]}
create or replace function comanda.late_evidence(request jsonb) returns table (effect_id bigint, kept boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
begin
  return query
    with item as materialized (select x as e, (x ->> 'effect')::bigint as id, (x ->> 'fence')::bigint as f from jsonb_array_elements(request -> 'items') x),
    fresh as materialized (
      select i.* from item i where not exists (select from comanda.outcome o where o.effect_id = i.id and o.fence = i.f)
        and not exists (select from comanda.attempt a where a.effect_id = i.id and a.fence = i.f and a.phase in ('late', 'end') and (a.outcome = 'completed' or i.e ->> 'outcome' <> 'completed'))),
    kept as (
      insert into comanda.attempt (effect_id, fence, phase, attempt, owner, outcome, provider_id, status, error_class, error_text, response, duration_ms)
        select f.id, f.f, 'late', coalesce((f.e ->> 'attempt')::int, 1), request ->> 'relay', f.e ->> 'outcome', f.e ->> 'providerId', (f.e ->> 'status')::int,
            f.e ->> 'errorClass', f.e ->> 'errorText', f.e ->> 'response', (f.e ->> 'ms')::int from fresh f
        returning effect_id),
    -- Who comes back with an answer was slow, not dead: its start does not count against the head. A lane that somebody holds at this moment is left alone.
    -- That the lane was taken over stays: what left under the lease that ended is waited for before anybody looks it up.
    slow as (
      update comanda.lane l set lost = greatest(l.lost - 1, 1)
        from (select x.lane from comanda.lane x where x.lost > 0
            and x.lane = any (array(select coalesce('k:' || e.ordering_key, 'e:' || e.id) from kept k join comanda.effect e on e.id = k.effect_id))
            and (select h.effect_id from comanda.effect_queue h where h.lane = x.lane order by h.pos limit 1) = any (array(select k.effect_id from kept k))
          order by x.lane for update skip locked) s
        where l.lane = s.lane)
    select i.id, exists (select from kept k where k.effect_id = i.id) from item i;
end
$fn$;
