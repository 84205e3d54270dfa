-- The ledger as the pattern is usually drawn: one row per decision with status pending, done or failed beside our own states. A plain decision is as far as its effects are;
-- one with an unknown or held effect says so instead of pending.
create or replace view comanda.run_ledger as
select r.id, r.key as idempotency_key, substr(r.subject, strpos(r.subject, ':') + 1) as order_id,
    case when d.state in ('decided', 'approved') then coalesce(d.stands, 'pending') when d.state = 'completed' then 'done' when d.state = 'processing' then 'pending'
      when d.state in ('failed_retryable', 'failed_terminal') then 'failed' else d.state end as status,
    case when r.result is not null then r.result::jsonb end as result, r.created_at, greatest(r.updated_at, d.last_at) as updated_at,
    d.state, r.subject, r.kind, r.actor_type, r.actor_id, r.tenant, r.reason, d.effects, d.open_effects
  from comanda.run r
  cross join lateral (
    select count(*)::int as effects, count(*) filter (where s.state not in ('completed', 'cancelled', 'failed'))::int as open_effects, max(s.ended_at) as last_at,
        case when bool_or(s.state = 'unknown') then 'unknown' when bool_or(s.waits_for = 'held') then 'held' end as stands,
        case when r.state not in ('decided', 'approved') then r.state
          when count(*) filter (where s.state not in ('completed', 'cancelled', 'failed')) > 0 then r.state
          when count(*) filter (where s.state = 'failed') > 0 then 'failed_terminal'
          when count(*) > 0 and count(*) = count(*) filter (where s.state = 'cancelled') then 'cancelled'
          else 'completed' end as state
      from comanda.effect_state s where s.run_id = r.id) d;
create or replace trigger read_only instead of insert or update or delete on comanda.run_ledger for each row execute function comanda.refuse_view_write();
create or replace trigger refused before insert or update or delete on comanda.run_ledger for each statement execute function comanda.refuse_view_write();
