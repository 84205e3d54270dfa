-- Was a newer version of the effect's subject decided for the same kind, and neither given up nor still waiting? Looks at the 200 latest decisions about the subject.
create or replace function comanda.is_stale(effect_id bigint) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $fn$
  select exists (
    select from comanda.effect e
      join comanda.run r on r.id = e.run_id
      cross join lateral (select x.id from comanda.run x where x.subject = r.subject and x.subject <> '' order by x.id desc limit 200) nr
      join comanda.effect n on n.run_id = nr.id and n.kind = e.kind and n.target = e.target and n.subject_version > e.subject_version
      where e.id = is_stale.effect_id and not exists (select from comanda.waiting w where w.effect_id = n.id)
        and coalesce((select o.state from comanda.outcome o where o.effect_id = n.id order by o.fence desc limit 1), 'pending') not in ('cancelled', 'failed'))
$fn$;

-- May these effects be sent now? A fresh read: fence, lease left, switch, key lifetime, cancel, age; writes the start row for effects with `mark` (non-idempotent kinds) in the same statement.
-- request: {relay, floor: "none" | "agents" | "agents_and_undeclared", items: [{lane, fence, effect, attempt, suspect, lost, mark, needMs, windowMs?, skipStale?, maxAgeMs?}]}
--   windowMs: how long after the head's first claim its key is trusted (lifetime - margin); absent = for ever
-- answer: go | go:none (send it as a kind without key: the key may be forgotten) | forgotten (it may have been sent, and the key may be forgotten: look it up first)
--   | lost | short | cancel | stale (a newer version of its subject was decided) | expired (older than maxAgeMs) | applied (late evidence says that it happened) | busy (try again) | off:<scope>
--   | wait:<ms> (its target is paused, or its breaker open and the probe is another relay's)
create or replace function comanda.may_send(request jsonb)
returns table (lane text, fence bigint, effect_id bigint, answer text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  stopped text[] := comanda.stopped(true, request);
  moved boolean := 'installation:moved' = any (stopped);
  floor text := coalesce(request ->> 'floor', 'agents_and_undeclared');  -- what is not understood is the strictest
  closed text[]; until timestamptz[];
  by_run boolean;
  locked text[];
begin
  perform set_config('synchronous_commit', 'on', true);
  by_run := floor <> 'none' or exists (select from unnest(stopped) s where s ~ '^(actor|agent|tenant):');
  -- A start as a suspect counts towards the three that quarantine a process killer. Never waits for a lane.
  select array_agg(s.lane) into locked from (
    select l.lane from comanda.lane l where l.lane = any (array(select x ->> 'lane' from jsonb_array_elements(request -> 'items') x where (x ->> 'lost')::int > 0))
      order by l.lane for update skip locked) s;
  select coalesce(array_agg(c.target), '{}'), array_agg(c.until) into closed, until from comanda.closed_targets(request ->> 'relay') c where not c.probing;
  return query
    with item as materialized (
      select x ->> 'lane' as lane, (x ->> 'fence')::bigint as fence, (x ->> 'effect')::bigint as effect_id, (x ->> 'attempt')::int as attempt,
          coalesce((x ->> 'suspect')::boolean, false) as suspect, coalesce((x ->> 'lost')::int, 0) as lost, coalesce((x ->> 'mark')::boolean, false) as mark,
          coalesce((x ->> 'needMs')::float8, 0) * interval '1 millisecond' as need, (x ->> 'windowMs')::float8 * interval '1 millisecond' as trusted,
          coalesce((x ->> 'skipStale')::boolean, false) as skip_stale, (x ->> 'maxAgeMs')::float8 * interval '1 millisecond' as max_age
        from jsonb_array_elements(request -> 'items') x),
    answered as materialized (
      select i.*, coalesce(l.first_at + i.trusted <= clock_timestamp(), false) as forgotten, case
          when l.fence is null or l.fence <> i.fence or l.owner is null then 'lost'
          when l.ready_at <= clock_timestamp() + i.need then 'short'
          when stopped is null then 'off:all'
          when ('kind:' || l.kind) = any (stopped) then 'off:kind:' || l.kind
          when ('target:' || l.target) = any (stopped) then 'off:target:' || l.target
          -- After a restore nobody knows when a key was used first: not before the effect was made.
          when moved and i.trusted is not null and exists (select from comanda.effect e where e.id = i.effect_id and e.created_at + i.trusted <= clock_timestamp()) then 'off:installation:moved'
          when l.target = any (closed) then 'wait:' || coalesce(comanda.ms_until((select u.b from unnest(closed, until) u (t, b) where u.t = l.target limit 1)), 0)
          when by_run then coalesce((
            select case
                when floor <> 'none' and r.by_agent then 'off:floor:agents'
                when floor not in ('none', 'agents') and r.actor_type is null then 'off:floor:undeclared'
                when ('tenant:' || r.tenant) = any (stopped) then 'off:tenant:' || r.tenant
                when ('actor:' || r.actor_type) = any (stopped) then 'off:actor:' || r.actor_type
                when 'actor:agent' = any (stopped) and r.by_agent then 'off:actor:agent'
                else (select 'off:' || s from unnest(stopped) s where s like 'agent:%' and (r.actor_type = 'agent' and r.actor_id = substr(s, 7)
                  or jsonb_path_exists(r.on_behalf_of, '$.** ? (@.type == "agent" && @.id == $id)', jsonb_build_object('id', substr(s, 7)))) limit 1)
              end
              from comanda.effect e join comanda.run r on r.id = e.run_id where e.id = i.effect_id))
        end as refused
        from item i left join comanda.lane l on l.lane = i.lane),
    said as materialized (
      select a.*, case
          when a.refused is not null then a.refused
          when a.lost > 0 and not a.lane = any (coalesce(locked, '{}')) then 'busy'
          when (a.mark or a.forgotten) and exists (select from comanda.attempt v where v.effect_id = a.effect_id and v.phase = 'late' and v.outcome = 'completed') then 'applied'
          when a.forgotten and a.suspect then 'forgotten'
          when not a.suspect and exists (select from comanda.effect_request q where q.effect_id = a.effect_id and q.answered_at is null and q.action = 'cancel') then 'cancel'
          -- Only what was certainly not sent can still be left out.
          when a.skip_stale and not a.suspect and comanda.is_stale(a.effect_id) then 'stale'
          when a.max_age is not null and not a.suspect and exists (select from comanda.effect e where e.id = a.effect_id and greatest(e.created_at, e.due_at) + a.max_age <= clock_timestamp()) then 'expired'
          when a.forgotten then 'go:none'
          else 'go' end as answer from answered a),
    started as (
      insert into comanda.attempt (effect_id, fence, phase, attempt, owner)
        select s.effect_id, s.fence, 'start', coalesce(s.attempt, 1), request ->> 'relay' from said s where (s.answer = 'go' and s.mark or s.answer = 'go:none')
          and not exists (select from comanda.attempt p where p.effect_id = s.effect_id and p.fence = s.fence and p.phase = 'start')),
    counted as (
      update comanda.lane l set lost = l.lost + 1 from said s where l.lane = s.lane and s.answer in ('go', 'go:none') and s.lost > 0)
    select s.lane, s.fence, s.effect_id, s.answer from said s;
end
$fn$;
