-- Writes what became of claimed work, many lanes in one call. Only the owner settles (P4): everything is matched on (lane, fence) and on a lane that has an owner,
-- so that a repeated call does nothing. Never waits for a lane: what is locked comes back as `busy`.
-- request: {relay, leaseMs, lanes: [{lane, fence, mode, delayMs?, reason?, trouble?, giveBack?, keepLost?, lost?, looked?, headFailed?, maybe?, head?: attempt, ended?: [attempt + {pos, state, reason?, maybe?}]}]}
--   attempt: {effect, attempt, outcome, providerId?, status?, errorClass?, errorText?, response?, ms?}
--   lost: with keepLost, so many at most
--   mode: keep (the same lease goes on) | next | retry (certainly not applied) | unsure (may be applied) | unknown (may be applied; look it up when due)
--         | absent (looked up: not applied) | block (until a person acts, or until the scope named by reason is on again)
-- result: ok | busy (again) | fenced (somebody else owns the lane now, or it was settled already: keep the evidence)
create or replace function comanda.settle(request jsonb)
returns table (lane text, fence bigint, result text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  who text := coalesce(request ->> 'relay', 'relay');
  lease interval := coalesce((request ->> 'leaseMs')::float8, 30000) * interval '1 millisecond';
  al text[]; af bigint[]; aj jsonb[];
  ol text[]; of_ bigint[]; oj jsonb[]; om text[];
  el text[]; ef bigint[]; ej jsonb[]; tids tid[];
  ml text[]; mk text[]; mt text[]; mp bigint[]; me bigint[]; mm text[]; mj jsonb[]; mf bigint[]; mn boolean[];
  none text[]; illegal boolean;
begin
  -- Each statement below relies on seeing what was committed before it took its locks.
  if current_setting('transaction_isolation') = 'repeatable read' then
    raise exception 'a relay cannot work in transactions that are REPEATABLE READ' using errcode = 'CM009', hint = 'ALTER ROLE ... SET default_transaction_isolation = ''read committed'' for the role of the relay.';
  end if;
  select array_agg(x ->> 'lane'), array_agg((x ->> 'fence')::bigint), array_agg(x) into al, af, aj from jsonb_array_elements(request -> 'lanes') x;
  if al is null then
    return;
  end if;
  if exists (select from unnest(aj) j where coalesce(j ->> 'mode', '') not in ('keep', 'next', 'retry', 'unsure', 'unknown', 'absent', 'block')
        or j ->> 'mode' = 'absent' and j -> 'head' ->> 'effect' is null)
      or exists (select from unnest(al, af) u (l, f) group by u.l, u.f having count(*) > 1) then
    raise exception 'settle needs each lane once per fence, with a mode: keep, next, retry, unsure, unknown, absent (with its head) or block' using errcode = 'CM009';
  end if;
  select array_agg(s.lane), array_agg(s.fence), array_agg(x.j),
      -- A lane without owner was parked, released or settled meanwhile: not ours any more, so a repeated call changes nothing.
      array_agg(x.j ->> 'mode'),
      bool_or(s.trouble = 'unknown' and jsonb_path_exists(x.j, '$.ended[*] ? (@.state == "cancelled")')) into ol, of_, oj, om, illegal
    from (select l.lane, l.fence, l.owner, l.trouble from comanda.lane l where l.lane = any (al) order by l.lane for update skip locked) s
    join unnest(al, af, aj) x (lane, fence, j) on x.lane = s.lane and x.fence = s.fence
    where s.owner is not null;
  if ol is not null then
    if illegal then
      raise exception 'an effect whose outcome is unknown cannot be cancelled' using errcode = 'CM009';
    end if;
    -- `absent` is believed only if nothing that was learned meanwhile says otherwise (relay-model R5): found = completed, as an ended head. Also where it would end the effect.
    select array_agg(o.lane), array_agg(o.fence), array_agg(x.e), array_agg(q.t) into el, ef, ej, tids
      from unnest(ol, of_, oj) o (lane, fence, j)
      cross join lateral (
        select case when e ->> 'outcome' = 'absent' then e || coalesce((select jsonb_build_object('state', 'completed', 'outcome', 'completed', 'providerId', a.provider_id, 'reason', 'late evidence')
              from comanda.attempt a where a.effect_id = (e ->> 'effect')::bigint and a.phase = 'late' and a.outcome = 'completed' limit 1), '{}') else e end
          from jsonb_array_elements(case when jsonb_typeof(o.j -> 'ended') = 'array' then o.j -> 'ended' else '[]' end) e
        union all
        select jsonb_build_object('pos', h.pos, 'effect', h.effect_id, 'state', 'completed', 'attempt', o.j -> 'head' -> 'attempt', 'outcome', 'completed',
            'providerId', h.provider_id, 'reason', 'late evidence')
          from (select r.pos, r.effect_id, v.provider_id from (select * from comanda.effect_queue r0 where r0.lane = o.lane order by r0.pos limit 1) r
            cross join lateral (select a.provider_id from comanda.attempt a where a.effect_id = r.effect_id and a.phase = 'late' and a.outcome = 'completed' limit 1) v) h
          where o.j ->> 'mode' = 'absent' or o.j ->> 'mode' = 'block' and o.j -> 'head' ->> 'outcome' = 'absent') x (e)
      cross join lateral (select r.ctid as t from comanda.effect_queue r where r.lane = o.lane and r.pos = (x.e ->> 'pos')::bigint and r.effect_id = (x.e ->> 'effect')::bigint limit 1) q;
    -- By ctid: right only because queue rows are never updated and their lane is locked.
    delete from comanda.effect_queue where ctid = any (tids);
    insert into comanda.outcome (effect_id, fence, state, settled_by, reason, attempts, provider_id, maybe_applied)
      select (e ->> 'effect')::bigint, f, e ->> 'state', who, e ->> 'reason', coalesce((e ->> 'attempt')::int, 1), e ->> 'providerId', coalesce((e ->> 'maybe')::boolean, false)
        from unnest(ef, ej) d (f, e);
    update comanda.effect_request r set answered_at = clock_timestamp(), answer = case when r.action = 'cancel' and d.e ->> 'state' = 'cancelled' then 'cancelled' else 'too late' end
      from unnest(ej) d (e)
      -- A request that a sweep holds at this moment is answered by a sweep: no waiting here.
      where r.effect_id = (d.e ->> 'effect')::bigint and r.id in (select w.id from comanda.effect_request w
        where w.answered_at is null and w.action = 'cancel' and w.effect_id in (select (x.e ->> 'effect')::bigint from unnest(ej) x (e)) for update skip locked);

    -- A new statement, hence a new snapshot after the lock: what is the head now?
    select array_agg(x.lane) filter (where m.kind is not null), array_agg(m.kind) filter (where m.kind is not null), array_agg(m.target) filter (where m.kind is not null),
        array_agg(m.pos) filter (where m.kind is not null), array_agg(m.effect_id) filter (where m.kind is not null), array_agg(x.md) filter (where m.kind is not null),
        array_agg(x.j) filter (where m.kind is not null), array_agg(x.fence) filter (where m.kind is not null), array_agg(x.lane) filter (where m.kind is null)
      into ml, mk, mt, mp, me, mm, mj, mf, none
      from unnest(ol, of_, om, oj) x (lane, fence, md, j)
      left join lateral (select r.kind, r.target, r.pos, r.effect_id from comanda.effect_queue r where r.lane = x.lane order by r.pos limit 1) m on true;
    if exists (select from unnest(el, ej) d (l, e) join unnest(ml, mp) m (lane, pos) on m.lane = d.l where (d.e ->> 'pos')::bigint > m.pos) then
      raise exception 'only the head prefix of a lane can be settled' using errcode = 'CM009';
    end if;
    -- The mode speaks about the head that the caller saw. When another one is the head - late evidence has just ended it - the rest is simply next.
    select array_agg(case when u.md in ('retry', 'unsure', 'unknown', 'absent', 'block') and u.j ? 'head' and (u.j -> 'head' ->> 'effect')::bigint <> u.e then 'next' else u.md end order by u.o),
        array_agg(coalesce(u.l = any (el), false) order by u.o)
      into mm, mn from unnest(ml, mm, mj, me) with ordinality u (l, md, j, e, o);

    -- Every try leaves an end row: those that ended, and the head that did not.
    insert into comanda.attempt (effect_id, fence, phase, attempt, owner, outcome, provider_id, status, error_class, error_text, response, duration_ms)
      select (t.e ->> 'effect')::bigint, t.f, case when t.e ->> 'outcome' in ('applied', 'absent', 'cannot_tell') then 'look' else 'end' end, coalesce((t.e ->> 'attempt')::int, 1), who,
          t.e ->> 'outcome', t.e ->> 'providerId', (t.e ->> 'status')::int, t.e ->> 'errorClass', t.e ->> 'errorText', t.e ->> 'response', (t.e ->> 'ms')::int
        from (select f, e from unnest(ef, ej) d (f, e) where d.e ? 'outcome'
          union all select o.f, o.j -> 'head' from unnest(of_, oj) o (f, j) where o.j -> 'head' ? 'outcome') t (f, e);
    insert into comanda.outcome (effect_id, fence, state, settled_by, reason, attempts, provider_id, maybe_applied)
      select u.e, u.f, 'failed', who, u.j ->> 'reason', coalesce((u.j -> 'head' ->> 'attempt')::int, 1), u.j -> 'head' ->> 'providerId', coalesce((u.j ->> 'maybe')::boolean, false)
        from unnest(me, mf, mj, mm) u (e, f, j, md) where u.md = 'block' and coalesce((u.j ->> 'headFailed')::boolean, false);

    if none is not null then
      delete from comanda.lane l where l.lane = any (none);
    end if;
    if ml is not null then
      -- `fresh`: something ended, so the head is another effect than the claim's. What was counted about that one does not pass on; the lifetime of its key does, to be on the safe side.
      -- `lost` outlives a clean release only: an attempt that has a result is one that its process survived.
      -- `next` without an end gives a lane up without a word about its head: as an expired lease, so what was in flight is suspect.
      update comanda.lane l set kind = u.hk, target = u.ht,
          ready_at = case when u.md = 'keep' then now() + lease when u.md = 'block' then 'infinity'::timestamptz when u.md in ('next', 'absent') then now()
            else now() + coalesce((u.j ->> 'delayMs')::float8, 0) * interval '1 millisecond' end,
          attempt = case when u.fresh and u.md = 'next' then 0 else greatest(case when u.fresh then 1 else l.attempt end - u.given_back::int, 0) end,
          inflight_to = case when u.md = 'keep' then l.inflight_to end,
          suspect_to = case when u.uncertain then greatest(u.hp, l.suspect_to) when u.silent then greatest(l.inflight_to, l.suspect_to) when u.hp <= l.suspect_to then l.suspect_to end,
          cleared_to = case when u.md = 'absent' then u.hp when u.uncertain or u.silent then null when u.hp = l.cleared_to then l.cleared_to end,
          first_at = case when u.md <> 'next' or not u.fresh or u.hp <= l.suspect_to then l.first_at end,
          owner = case when u.md = 'keep' then l.owner end,
          lost = case when not u.fresh and (u.md in ('keep', 'next') or u.given_back and not u.j ? 'head' and u.md in ('retry', 'block') or coalesce((u.j ->> 'keepLost')::boolean, false)) then least(l.lost, (u.j ->> 'lost')::int) else 0 end,
          trouble = case when u.md = 'unknown' then 'unknown' when u.md = 'block' and u.j ->> 'trouble' is not null then u.j ->> 'trouble'
            when not u.fresh and (u.md in ('keep', 'next', 'block') or u.md in ('retry', 'unsure') and u.hp <= l.suspect_to) then l.trouble end,
          looks = coalesce((u.j ->> 'looked')::boolean, false)::int
            + case when not u.fresh and (u.md in ('keep', 'next', 'unknown', 'block') or u.md in ('retry', 'unsure') and l.trouble is not null) then l.looks else 0 end,
          parked_by = case when u.md = 'block' then coalesce(u.j ->> 'reason', 'blocked') end,
          parked_at = case when u.md = 'block' then clock_timestamp() end
        from (select x.*, x.md in ('unsure', 'unknown') or x.md = 'block' and coalesce(x.j ->> 'trouble' = 'unknown', false) as uncertain, x.md = 'next' and not x.fresh as silent,
            coalesce((x.j ->> 'giveBack')::boolean, false) as given_back
          from unnest(ml, mk, mt, mp, mm, mj, mn) x (lane, hk, ht, hp, md, j, fresh)) u where l.lane = u.lane;
    end if;
  end if;
  return query
    select x.l, x.f, case
        when exists (select from unnest(ol, of_) o (l, f) where o.l = x.l and o.f = x.f) then 'ok'
        when exists (select from comanda.lane l where l.lane = x.l and l.fence = x.f and l.owner is not null) then 'busy'
        else 'fenced' end
      from unnest(al, af) x (l, f);
end
$fn$;
