-- Tells the sleeping relays that there is work, when this transaction commits. Commits that notify wait for each other, so a crowd of decisions sends one
-- notification each 20 ms: whoever notifies says for the others that somebody is about to look. It is a hint; polling is the truth.
create or replace function comanda.wake() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $fn$
begin
  perform pg_notify('comanda_' || 'comanda.effect_arrival'::regclass::oid::bigint, ''), setval('comanda.awake'::regclass, (extract(epoch from clock_timestamp()) * 1000)::bigint + 20);
end
$fn$;

-- Draws the lane position of a keyed effect at COMMIT (DESIGN 5, "order by construction"). Deferred, so that position order is commit order
-- whatever order callers lock in: the lane's advisory lock is held until the transaction is visible.
create or replace function comanda.place() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set jit = off as $fn$
declare
  seed bigint := 'comanda.effect_arrival'::regclass::oid::bigint;
  setting text := 'comanda.lanes_' || seed;
  hashes text := current_setting(setting, true);
  unbounded boolean := current_setting('lock_timeout') = '0';
begin
  -- statement_timeout does not run during COMMIT; without a lock_timeout a producer would wait here without end. 55P03 = nothing written, retryable.
  if unbounded then
    perform set_config('lock_timeout', '5s', true);
  end if;
  if hashes <> '' then
    -- First firing: the locks of all lanes of this transaction in one order, so that mirrored transactions cannot deadlock. One lane needs no order.
    if strpos(hashes, ' ') > 0 then
      perform pg_advisory_xact_lock(x.h)
        from (select distinct u::bigint as h from unnest(string_to_array(hashes, ' ')) u order by 1) x;
    end if;
    setting := set_config(setting, '', true);
    if coalesce(pg_sequence_last_value('comanda.awake'::regclass), 0) < extract(epoch from clock_timestamp()) * 1000 then
      perform comanda.wake();
    end if;
  end if;
  perform pg_advisory_xact_lock(hashtextextended(new.ordering_key, seed));
  insert into comanda.effect_arrival (id, effect_id, lane, kind, target)
    values (nextval('comanda.lane_position'::regclass), new.id, 'k:' || new.ordering_key, new.kind, new.target);
  if unbounded then
    -- After SET CONSTRAINTS IMMEDIATE the transaction goes on: its later statements wait as its owner wants.
    setting := set_config('lock_timeout', '0', true);
  end if;
  return null;
end
$fn$;

do $do$ begin
  if not exists (select from pg_trigger where tgrelid = 'comanda.effect'::regclass and tgname = 'place') then
    create constraint trigger place after insert on comanda.effect deferrable initially deferred
      for each row when (new.ordering_key is not null and new.waits is null) execute function comanda.place();
  end if;
end $do$;
