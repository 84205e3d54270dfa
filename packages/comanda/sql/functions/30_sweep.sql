-- Housekeeping that any relay does, one at a time, in bounded batches: moves waiting effects that are due, unparks lanes whose reason no longer holds, applies what people asked for,
-- makes partitions ahead, forgets relays that are long gone. request: {relay, batch?}. One row: what was done, and which part failed: the others stand.
create or replace function comanda.sweep(request jsonb)
returns table (moved int, unparked int, answered int, ran boolean, failed text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  batch int := least(coalesce((request ->> 'batch')::int, 500), 5000);
  part text;
  stop boolean := false;
begin
  perform set_config('synchronous_commit', 'on', true);
  moved := 0; unparked := 0; answered := 0; ran := true;
  if not pg_try_advisory_xact_lock('comanda.effect_arrival'::regclass::oid::int, 2) then
    return query select 0, 0, 0, false, null::text;
    return;
  end if;
  -- In any order: a part that always runs into the statement timeout, which ends the pass, must not starve those behind it.
  for part in select p from unnest(array['waiting', 'parked', 'requests', 'relays', 'ended', 'partitions']) p order by random() loop
    begin
      case part
        when 'waiting' then moved := comanda.sweep_waiting(batch);
        when 'parked' then unparked := comanda.sweep_parked(batch);
        when 'requests' then answered := comanda.sweep_requests(batch);
        when 'relays' then delete from comanda.relay r where r.beat_at < clock_timestamp() - interval '1 day';
        when 'ended' then perform comanda.advance_ended_mark(batch * 4);
        when 'partitions' then perform comanda.ensure_partitions(clock_timestamp());
      end case;
    exception
      when query_canceled then failed := concat_ws('; ', failed, part || ': ' || sqlerrm); stop := true;
      when others then failed := concat_ws('; ', failed, part || ': ' || sqlerrm);
    end;
    exit when stop;
  end loop;
  return query select moved, unparked, answered, ran, failed;
end
$fn$;

-- Waiting effects that are due get their place in the lane now. Takes the lane's advisory lock too (tries: never waits); a busy lane waits for the next pass.
-- Only reasons that are known here: what a newer version lets wait is its own.
create or replace function comanda.sweep_waiting(batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  seed bigint := 'comanda.effect_arrival'::regclass::oid::bigint;
  due_lanes text[]; free text[]; n int;
begin
  -- Lanes first: thousands of due effects of one lane that a caller holds must not keep the others waiting.
  select array_agg(x.lane) into due_lanes from (
    select d.lane from (select w.lane, w.next_at from comanda.waiting w where w.next_at <= clock_timestamp() and w.reason in ('delayed', 'window')
        order by w.next_at limit batch * 20) d
      group by d.lane order by min(d.next_at) limit batch) x;
  if due_lanes is null then
    return 0;
  end if;
  select array_agg(z.l) into free from (
    select l from unnest(due_lanes) l where l like 'e:%' or pg_try_advisory_xact_lock(hashtextextended(substr(l, 3), seed)) order by l) z;
  with due as materialized (
      select w.effect_id from comanda.waiting w join unnest(free) f (lane) on f.lane = w.lane
        where w.next_at <= clock_timestamp() and w.reason in ('delayed', 'window') order by w.next_at limit batch for update of w skip locked),
    gone as (delete from comanda.waiting w using due d where w.effect_id = d.effect_id returning w.*)
  insert into comanda.effect_arrival (id, effect_id, lane, kind, target)
    select nextval('comanda.lane_position'::regclass), o.effect_id, o.lane, o.kind, o.target from (select * from gone g order by g.next_at, g.effect_id) o;
  get diagnostics n = row_count;
  return n;
end
$fn$;

-- Level-triggered (relay-model R7): every lane parked by a switch that is on again is due, whoever switched and whenever. Draws a new fence.
create or replace function comanda.sweep_parked(batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
declare
  lanes text[]; n int;
begin
  select array_agg(x.lane) into lanes from (
    select l.lane from comanda.lane l where l.parked_by like 'switch:%'
      and not exists (select from comanda.switch s where s.scope = substr(l.parked_by, 8) and s.mode <> 'run')
      and (l.parked_by <> 'switch:installation:moved' or not exists (select from comanda.adoption(null) a where a.moved is not null)) limit batch for update skip locked) x;
  if lanes is null then
    return 0;
  end if;
  update comanda.lane l set ready_at = clock_timestamp(), parked_by = null, parked_at = null, fence = nextval('comanda.fence'::regclass) where l.lane = any (lanes);
  get diagnostics n = row_count;
  return n;
end
$fn$;

-- Months ahead, so that the default partitions stay empty; what is in one all the same moves. Runs as the owner: a relay needs no right to create.
-- It must not wait: behind a waiting lock everybody else would wait too, for as long as one open transaction has read the table. Then a later pass makes the month.
create or replace function comanda.ensure_partitions(instant timestamptz) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' set lock_timeout = '50ms' as $fn$
declare
  ns text := (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = 'comanda.run'::regclass);
  parent text; instant_column text; month timestamptz; part text; made int := 0;
begin
  for parent, instant_column in values ('attempt', 'at'), ('event', 'created_at'), ('audit', 'at') loop
    for i in 0 .. 2 loop
      month := date_trunc('month', instant) + make_interval(months => i);
      part := parent || '_' || to_char(month, 'YYYYMM');
      continue when exists (select from pg_class c where c.relname = part and c.relnamespace = to_regnamespace(quote_ident(ns)));
      begin
        execute format('lock table %I.%I in access exclusive mode', ns, parent || '_default');
        execute format('create table %1$I.%2$I (like %1$I.%3$I including defaults including constraints)', ns, part, parent);
        execute format('with moved as (delete from %1$I.%2$I where %4$I >= %5$L and %4$I < %6$L returning *) insert into %1$I.%3$I select * from moved',
          ns, parent || '_default', part, instant_column, month, month + interval '1 month');
        execute format('alter table %1$I.%2$I attach partition %1$I.%3$I for values from (%4$L) to (%5$L)', ns, parent, part, month, month + interval '1 month');
        made := made + 1;
      exception when lock_not_available or check_violation then
        return made;
      end;
    end loop;
  end loop;
  return made;
end
$fn$;
