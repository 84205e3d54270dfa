-- Destinations: breaker, pause, limits. The hot path reads only whether a target is closed; limits are handed out as shares, about once a second, so that nothing is read per effect.

-- Only the targets that may not be sent to now, and until when; `probing` = this relay holds the one probe of a half-open breaker. The table is tiny: only targets with a breaker, a pause or a limit have a row.
create or replace function comanda.closed_targets(relay text) returns table (target text, until timestamptz, probing boolean)
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $fn$
  -- A probe that is under way ends long before its lease: what meets it waits for a moment only.
  select t.target, greatest(case t.breaker when 'open' then t.breaker_until when 'half_open' then least(t.breaker_until, clock_timestamp() + interval '500 milliseconds') end, case when t.paused_until > clock_timestamp() then t.paused_until end),
      t.breaker = 'half_open' and t.probe_by = relay and t.breaker_until > clock_timestamp() and (t.paused_until is null or t.paused_until <= clock_timestamp())
    from comanda.target t where t.breaker <> 'closed' or t.paused_until > clock_timestamp()
$fn$;

-- What one relay learned about a target, for all of them. request: {relay, target} and one of
-- {pauseMs, reason?}: it asked for patience (at most 1 h); {broke: true, reason, probe?, openMs?, openMaxMs?}: it refuses us or is down; {ok: true}: the probe of this relay came through.
-- Only what a probe found counts while the breaker is not closed: answers to requests that left before say nothing new.
create or replace function comanda.target_report(request jsonb) returns table (target text, breaker text, wait_ms bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '1s' as $fn$
#variable_conflict use_column
declare
  t text := request ->> 'target';
  who text := request ->> 'relay';
  pause interval := case when request ->> 'pauseMs' is not null then least(greatest((request ->> 'pauseMs')::float8, 0), 3600000) * interval '1 millisecond' end;
  broke boolean := coalesce((request ->> 'broke')::boolean, false);
  ok boolean := coalesce((request ->> 'ok')::boolean, false);
  first_ms float8 := least(greatest(coalesce((request ->> 'openMs')::float8, 10000), 1), 3600000);
  most_ms float8 := least(greatest(coalesce((request ->> 'openMaxMs')::float8, 600000), 1), 3600000);
begin
  if coalesce(who, '') = '' or coalesce(octet_length(t), 0) not between 1 and 128 or (pause is not null)::int + broke::int + ok::int <> 1 then
    raise exception 'target_report needs {relay, target (1 to 128 bytes)} and one of pauseMs, broke, ok' using errcode = 'CM009';
  end if;
  if not ok then
    insert into comanda.target (target) values (t) on conflict do nothing;
  end if;
  if pause is not null then
    update comanda.target x set paused_until = clock_timestamp() + pause, pause_reason = left(request ->> 'reason', 500), updated_at = clock_timestamp(),
        paused_at = case when x.paused_until > clock_timestamp() then coalesce(x.paused_at, clock_timestamp()) else clock_timestamp() end
      where x.target = t and (x.paused_until is null or x.paused_until < clock_timestamp() + pause);
  elsif broke then
    update comanda.target x set breaker = 'open', breaker_reason = left(request ->> 'reason', 500), opened_at = coalesce(x.opened_at, clock_timestamp()), probe_by = null, updated_at = clock_timestamp(),
        openings = least(x.openings + 1, 1000), breaker_until = clock_timestamp() + least(first_ms * 2 ^ least(x.openings, 60), greatest(first_ms, most_ms)) * interval '1 millisecond'
      where x.target = t and (x.breaker = 'closed' or x.breaker = 'half_open' and x.probe_by = who and coalesce((request ->> 'probe')::boolean, false));
  else
    update comanda.target x set breaker = 'closed', breaker_reason = null, breaker_until = null, opened_at = null, probe_by = null, openings = 0, updated_at = clock_timestamp()
      where x.target = t and x.breaker <> 'closed' and x.probe_by = who;
  end if;
  return query select t, coalesce(max(x.breaker), 'closed'), coalesce(greatest(max(comanda.ms_until(case when x.breaker <> 'closed' then x.breaker_until end)), max(comanda.ms_until(x.paused_until))), 0)
    from comanda.target x where x.target = t;
end
$fn$;

-- Milliseconds from now until then, never negative; null for no time.
create or replace function comanda.ms_until(moment timestamptz) returns bigint
language sql volatile security definer set search_path = pg_catalog, pg_temp
as $fn$ select case when moment is not null then greatest(ceil(extract(epoch from moment - clock_timestamp()) * 1000), 0)::bigint end $fn$;

-- Asks for the one probe of a target whose breaker is open: granted to one relay at a time, for `leaseMs`; asking again prolongs it. request: {relay, target, leaseMs}.
create or replace function comanda.target_probe(request jsonb) returns table (target text, granted boolean, wait_ms bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '1s' as $fn$
#variable_conflict use_column
declare
  who text := request ->> 'relay';
  lease interval := case when request ->> 'leaseMs' is not null then least(greatest((request ->> 'leaseMs')::float8, 1), 3600000) * interval '1 millisecond' end;
  got boolean;
begin
  if coalesce(who, '') = '' or lease is null or request ->> 'target' is null then
    raise exception 'target_probe needs {relay, target, leaseMs}' using errcode = 'CM009';
  end if;
  update comanda.target x set breaker = 'half_open', probe_by = who, breaker_until = clock_timestamp() + lease, updated_at = clock_timestamp()
    where x.target = request ->> 'target' and x.breaker <> 'closed' and (x.paused_until is null or x.paused_until <= clock_timestamp())
      and (x.breaker_until <= clock_timestamp() or x.breaker = 'half_open' and x.probe_by = who);
  got := found;
  return query select request ->> 'target', got, coalesce((select greatest(comanda.ms_until(case when x.breaker <> 'closed' then x.breaker_until end), comanda.ms_until(x.paused_until))
    from comanda.target x where x.target = request ->> 'target'), 0);
end
$fn$;

-- About once a second from each relay: declares the limits of its configuration, gets its share of them, learns which of its targets are closed. A share is used until `share_ms` after the question was asked.
-- request: {relay, stopping?, targets: [{target, kinds, ratePerSecond?, concurrency?, held?, slots?}]}; held = lanes of it that the relay works on, slots = what it may be using at this moment.
-- The shares that live never add up to more than the limit. A relay that joins gets nothing before the others have given way; one that dies gives way after 2.5 s.
create or replace function comanda.targets_beat(request jsonb)
returns table (target text, wait_ms bigint, breaker text, probe_by text, slots int, rate float8, share_ms int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '250ms' as $fn$
#variable_conflict use_column
declare
  life_ms constant int := 2500;
  who text := request ->> 'relay';
  stopping boolean := coalesce((request ->> 'stopping')::boolean, false);
  names text[] := array(select y ->> 'target' from jsonb_array_elements(request -> 'targets') y order by 1);
  limited text[]; item jsonb; x comanda.target; now_ms float8; live jsonb; mine jsonb; declares boolean; wants boolean;
  fair_slots int; fair_rate float8; other_slots bigint; other_rate float8;
begin
  if coalesce(who, '') = '' or request -> 'targets' is null then
    raise exception 'targets_beat needs {relay, targets}' using errcode = 'CM009';
  end if;
  if not stopping then
    for item in select y from jsonb_array_elements(request -> 'targets') y
        where (y ? 'ratePerSecond' or y ? 'concurrency') and not exists (select from comanda.target t where t.target = y ->> 'target') order by y ->> 'target' loop
      begin
        insert into comanda.target (target) values (item ->> 'target') on conflict do nothing;
      exception when lock_not_available then null;  -- a person's open transaction is making it: the others have their shares meanwhile
      end;
    end loop;
  end if;
  -- Short waits only: a row that a person's open transaction holds is left out, and its share ends.
  begin
    select array_agg(s.target) into limited from (select t.target from comanda.target t where t.target = any (names) order by t.target for update) s;
  exception when lock_not_available then
    select array_agg(s.target) into limited from (select t.target from comanda.target t where t.target = any (names) order by t.target for update skip locked) s;
  end;
  now_ms := extract(epoch from clock_timestamp()) * 1000;
  for item in select y from jsonb_array_elements(request -> 'targets') y where y ->> 'target' = any (limited) order by y ->> 'target' loop
    select * into x from comanda.target t where t.target = item ->> 'target';
    declares := item ? 'ratePerSecond' or item ? 'concurrency';
    select coalesce(jsonb_agg(s), '[]') into live from jsonb_array_elements(x.shares) s where (s ->> 'until')::float8 > now_ms and s ->> 'relay' <> who;
    if x.set_by is null and declares and not stopping then
      x.rate_per_second := (item ->> 'ratePerSecond')::numeric;
      x.concurrency := (item ->> 'concurrency')::int;
    elsif x.set_by is null and not exists (select from jsonb_array_elements(live) s where (s ->> 'declares')::boolean) then
      -- No relay declares it any longer, and no person set it.
      x.rate_per_second := null;
      x.concurrency := null;
    end if;
    mine := null;
    if not stopping and (x.rate_per_second is not null or x.concurrency is not null) then
      wants := coalesce((item ->> 'held')::int, 0) > 0
        or exists (select from jsonb_array_elements_text(item -> 'kinds') k where exists (select from comanda.lane l where l.kind = k and l.ready_at <= clock_timestamp() and l.target = x.target))
        or exists (select from (select a.target from comanda.effect_arrival a order by a.id limit 100) a where a.target = x.target);
      -- A relay without work keeps a small part, so that its first effect need not wait for the next beat.
      with everyone as (select who as id, case when wants then 1.0 else 0.1 end as w
          union all select s ->> 'relay', case when (s ->> 'wants')::boolean then 1.0 else 0.1 end from jsonb_array_elements(live) s),
        parts as (select e.id, e.w, e.w / sum(e.w) over () as part from everyone e),
        -- What cannot be divided goes round, so that nobody is left out for ever.
        ranked as (select p.*, floor(x.concurrency * p.part + 1e-9)::int as whole,
          row_number() over (order by p.w desc, hashtext(p.id || floor(now_ms / 10000)::text), p.id) as place from parts p)
        select r.whole + (r.place <= x.concurrency - (select sum(o.whole) from ranked o))::int, x.rate_per_second * r.part into fair_slots, fair_rate from ranked r where r.id = who;
      select coalesce(sum((s ->> 'slots')::int), 0), coalesce(sum((s ->> 'rate')::float8), 0) into other_slots, other_rate from jsonb_array_elements(live) s;
      fair_slots := greatest(least(fair_slots, x.concurrency - other_slots), 0);
      fair_rate := greatest(least(fair_rate, x.rate_per_second - other_rate), 0);
      -- Slots in use cannot be taken away: they count until the relay has said that it gave them up.
      mine := jsonb_build_object('relay', who, 'wants', wants, 'declares', declares, 'until', now_ms + life_ms, 'rate', fair_rate,
        'slots', greatest(fair_slots, coalesce((item ->> 'slots')::int, 0)), 'granted', fair_slots);
    end if;
    update comanda.target t set rate_per_second = x.rate_per_second, concurrency = x.concurrency, shares = case when mine is null then live else live || mine end, updated_at = clock_timestamp()
      where t.target = x.target and (mine is not null or t.shares <> live or t.rate_per_second is distinct from x.rate_per_second or t.concurrency is distinct from x.concurrency);
  end loop;
  -- Rows that say nothing any longer.
  delete from comanda.target t where t.target = any (limited) and t.breaker = 'closed' and t.set_by is null and t.rate_per_second is null and t.concurrency is null
    and (t.paused_until is null or t.paused_until <= clock_timestamp());
  return query
    select t.target, coalesce(greatest(comanda.ms_until(case when t.breaker <> 'closed' then t.breaker_until end), comanda.ms_until(t.paused_until)), 0), t.breaker, t.probe_by,
        case when t.concurrency is not null then coalesce((s.share ->> 'granted')::int, 0) end, case when t.rate_per_second is not null then coalesce((s.share ->> 'rate')::float8, 0) end,
        case when t.concurrency is not null or t.rate_per_second is not null then case when s.share is null then 0 else life_ms end end
      from comanda.target t
      left join lateral (select y as share from jsonb_array_elements(t.shares) y where y ->> 'relay' = who and t.target = any (limited) limit 1) s on true
      where t.target = any (names);
end
$fn$;

-- A named person pauses or resumes a target, closes its breaker, or sets its limits; limits set here win over those of the relays' configuration until {limitsOfCode: true}.
-- request: {target, by, reason, pauseMs?, resume?, close?, ratePerSecond?: number | null, concurrency?: number | null, limitsOfCode?}
create or replace function comanda.target_set(request jsonb)
returns table (target text, breaker text, paused_ms bigint, rate_per_second float8, concurrency int, set_by text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  t text := request ->> 'target';
  who text := request ->> 'by';
  pause boolean := request ? 'pauseMs';
  resume boolean := coalesce((request ->> 'resume')::boolean, false);
  shut boolean := coalesce((request ->> 'close')::boolean, false);
  of_code boolean := coalesce((request ->> 'limitsOfCode')::boolean, false);
  limits boolean := request ? 'ratePerSecond' or request ? 'concurrency';
begin
  if coalesce(who, '') = '' or coalesce(request ->> 'reason', '') = '' then
    raise exception 'target_set needs "by" (who) and "reason" (why)' using errcode = 'CM013';
  end if;
  if coalesce(octet_length(t), 0) not between 1 and 128 or octet_length(who) > 512 or octet_length(request ->> 'reason') > 4096 then
    raise exception 'target_set needs "target" (1 to 128 bytes); "by" has at most 512 bytes, "reason" 4096' using errcode = 'CM009';
  end if;
  if not (pause or resume or shut or of_code or limits) or pause and resume or of_code and limits then
    raise exception 'target_set does one or more of pauseMs or resume, close, and ratePerSecond, concurrency or limitsOfCode' using errcode = 'CM009';
  end if;
  if pause and (jsonb_typeof(request -> 'pauseMs') <> 'number' or not (request ->> 'pauseMs')::numeric between 1 and 2592000000) then
    raise exception '"pauseMs" is a number of milliseconds from 1 to 2592000000 (30 days)' using errcode = 'CM009';
  end if;
  if coalesce(jsonb_typeof(request -> 'ratePerSecond'), 'null') <> 'null'
      and (jsonb_typeof(request -> 'ratePerSecond') <> 'number' or not (request ->> 'ratePerSecond')::numeric between 0.001 and 100000) then
    raise exception '"ratePerSecond" is a number from 0.001 to 100000, or null for no limit' using errcode = 'CM009';
  end if;
  if coalesce(jsonb_typeof(request -> 'concurrency'), 'null') <> 'null'
      and (jsonb_typeof(request -> 'concurrency') <> 'number' or not (request ->> 'concurrency')::numeric between 1 and 10000 or (request ->> 'concurrency')::numeric % 1 <> 0) then
    raise exception '"concurrency" is a whole number from 1 to 10000, or null for no limit' using errcode = 'CM009';
  end if;
  insert into comanda.target (target) values (t) on conflict do nothing;
  update comanda.target x set updated_at = clock_timestamp(),
      paused_until = case when pause then clock_timestamp() + (request ->> 'pauseMs')::float8 * interval '1 millisecond' when not resume then x.paused_until end,
      paused_at = case when pause then clock_timestamp() when not resume then x.paused_at end,
      pause_reason = case when pause then left(request ->> 'reason', 400) || ' (' || left(who, 90) || ')' when not resume then x.pause_reason end,
      breaker = case when shut then 'closed' else x.breaker end, breaker_reason = case when not shut then x.breaker_reason end, breaker_until = case when not shut then x.breaker_until end,
      opened_at = case when not shut then x.opened_at end, probe_by = case when not shut then x.probe_by end, openings = case when shut then 0 else x.openings end,
      rate_per_second = case when of_code then null when request ? 'ratePerSecond' then (request ->> 'ratePerSecond')::numeric else x.rate_per_second end,
      concurrency = case when of_code then null when request ? 'concurrency' then (request ->> 'concurrency')::numeric::int else x.concurrency end,
      set_by = case when of_code then null when limits then who else x.set_by end
    where x.target = t;
  insert into comanda.audit (actor, act, subject, reason, detail) values (who, 'target', 'target:' || t, request ->> 'reason', request - array['by', 'reason', 'target']);
  perform pg_notify('comanda_' || 'comanda.effect_arrival'::regclass::oid::bigint, '');
  return query select x.target, x.breaker, comanda.ms_until(x.paused_until), x.rate_per_second::float8, x.concurrency, x.set_by from comanda.target x where x.target = t;
end
$fn$;
