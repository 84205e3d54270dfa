-- Moves arrivals onto lanes, in commit order, and leases new lanes to the caller. One router at a time.
-- request: {relay, kinds: [{kind, lanes}], leaseMs, batch}. Returns only ids and small numbers: payloads are read apart, without locks.
create or replace function comanda.route(request jsonb)
returns table (lane text, fence bigint, pos bigint, effect_id bigint, kind text, target text, attempt int, suspect boolean, cancel boolean, lost int, looks int, trouble text, routed int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  who text := request ->> 'relay';
  lease interval := (request ->> 'leaseMs')::float8 * interval '1 millisecond';
  batch int := least(coalesce((request ->> 'batch')::int, 500), 2000);
  stopped text[] := comanda.stopped(false, request);
  closed text[] := array(select c.target from comanda.closed_targets(null) c);
  allowed text[]; caps int[];
  ai bigint[]; ae bigint[]; al text[]; ak text[]; at_ text[];
  known text[]; locked text[]; busy text[]; mine text[]; passed text[] := '{}';
  f bigint;
begin
  if who is null or lease is null then
    raise exception 'route needs {relay, leaseMs, kinds}' using errcode = 'CM009';
  end if;
  -- Each statement below relies on seeing what was committed before it took its locks.
  if current_setting('transaction_isolation') = 'repeatable read' then
    raise exception 'a relay cannot work in transactions that are REPEATABLE READ' using errcode = 'CM009', hint = 'ALTER ROLE ... SET default_transaction_isolation = ''read committed'' for the role of the relay.';
  end if;
  -- A claim that a crash of the server forgets would be a blind re-send (redteam 1.11).
  perform set_config('synchronous_commit', 'on', true);
  if not pg_try_advisory_xact_lock('comanda.effect_arrival'::regclass::oid::int, 1) then
    return;
  end if;
  select array_agg(x ->> 'kind'), array_agg(coalesce((x ->> 'lanes')::int, 1)) into allowed, caps from jsonb_array_elements(request -> 'kinds') x
    where stopped is not null and not ('kind:' || (x ->> 'kind')) = any (stopped);

  -- Where all of the oldest belong to busy lanes, those behind them have their turn: a few looks, each past the lanes that were busy before.
  for look in 1 .. 4 loop
    select array_agg(x.id), array_agg(x.effect_id), array_agg(x.lane), array_agg(x.kind), array_agg(x.target) into ai, ae, al, ak, at_
      from (select * from comanda.effect_arrival y where not y.lane = any (passed) order by y.id limit batch) x;
    exit when ai is null;
    select array_agg(distinct l) into known from unnest(al) l;
    select array_agg(s.lane) into locked from (
      select l.lane from comanda.lane l where l.lane = any (known) order by l.lane for update skip locked) s;
    select array_agg(p.lane) into busy from (select l.lane from comanda.lane l where l.lane = any (known)) p where not p.lane = any (coalesce(locked, '{}'));
    exit when busy is null;
    -- All rows of a busy lane stay: a later one must not be queued before an earlier one.
    select array_agg(i order by i), array_agg(e order by i), array_agg(l order by i), array_agg(k order by i), array_agg(t order by i) into ai, ae, al, ak, at_
      from unnest(ai, ae, al, ak, at_) u (i, e, l, k, t) where not l = any (busy);
    exit when ai is not null;
    passed := passed || busy;
  end loop;
  if ai is null then
    return;
  end if;
  -- Only rows that this DELETE returned are queued: a second router could not re-insert what the first one moved (relay-model, M_TWOROUTERS).
  with gone as (delete from comanda.effect_arrival y where y.id = any (ai) returning y.id, y.effect_id, y.lane, y.kind, y.target)
    select array_agg(g.id), array_agg(g.effect_id), array_agg(g.lane), array_agg(g.kind), array_agg(g.target) into ai, ae, al, ak, at_ from (select * from gone order by id) g;
  if ai is null then
    return;
  end if;
  f := nextval('comanda.fence'::regclass);
  with heads as (select distinct on (l) l, i, k, t from unnest(ai, al, ak, at_) u (i, l, k, t)
      where locked is null or not exists (select from unnest(locked) x (l) where x.l = u.l) order by l, i),
    given as (select h.*, row_number() over (order by h.i) as n, coalesce(row_number() over (partition by h.k order by h.i) <= (select c.n from unnest(allowed, caps) c (k, n) where c.k = h.k limit 1)
        and not ('target:' || h.t) = any (stopped) and not h.t = any (closed), false) as leased from heads h),
    made as (insert into comanda.lane (lane, kind, target, ready_at, fence, attempt, inflight_to, owner, first_at)
      select g.l, g.k, g.t, 
          -- Microseconds keep the order of arrival among lanes that become due in one call: oldest first.
          case when g.leased then now() + lease else now() - (2000 - g.n) * interval '1 microsecond' end, f, g.leased::int, case when g.leased then g.i end,
        case when g.leased then who end, case when g.leased then now() end from given g order by g.l returning lane, owner)
  select array_agg(m.lane) filter (where m.owner is not null) into mine from made m;
  insert into comanda.effect_queue (lane, pos, effect_id, kind, target) select * from unnest(al, ai, ae, ak, at_);
  return query
    select h.l, f, h.i, h.e, h.k, h.t, 1, false,
        exists (select from comanda.effect_request q where q.effect_id = h.e and q.answered_at is null and q.action = 'cancel'), 0, 0, null::text, cardinality(ai)
      from (select distinct on (u.l) u.l, u.i, u.e, u.k, u.t from unnest(ai, ae, al, ak, at_) u (i, e, l, k, t) join unnest(mine) m (l) on m.l = u.l order by u.l, u.i) h
    union all
    select null, null, null, null, null, null, null, null, null, null, null, null, cardinality(ai) where mine is null;
end
$fn$;
