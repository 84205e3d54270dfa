-- The outbox as the pattern is usually drawn: one row per effect, with a status column. Held, unknown and cancelled never read as pending. Read-only: writes name the function to call.
create or replace view comanda.outbox as
select s.effect_id as id, substr(s.subject, strpos(s.subject, ':') + 1) as aggregate_id, s.kind as effect_type, e.payload::jsonb as payload, s.idempotency_key,
    case s.state when 'sending' then 'processing' when 'completed' then 'done' when 'waiting' then case s.waits_for when 'held' then 'held' else 'delayed' end else s.state end as status,
    coalesce(s.attempts, 0) as attempts,
    (select a.error_text from comanda.attempt a where a.effect_id = s.effect_id and a.phase = 'end' and a.outcome <> 'completed' order by a.at desc limit 1) as last_error,
    s.created_at, s.ended_at as processed_at, s.state, s.subject, s.run_key, s.name, s.target, s.ordering_key, s.provider_id
  from comanda.effect_state s join comanda.effect e on e.id = s.effect_id;

create or replace function comanda.refuse_view_write() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $fn$
begin
  raise exception 'the view % cannot be written', tg_table_name using errcode = 'CM008',
    hint = case tg_table_name when 'outbox' then 'Use decide(jsonb) to add an effect, cancel(jsonb) to take one back, request(jsonb) to skip, redrive or resolve one.'
      else 'Use decide(jsonb) to record a decision.' end;
end
$fn$;
-- For each row, so that the view counts as one that can be written at all; for each statement, so that a write that meets no row is refused too.
create or replace trigger read_only instead of insert or update or delete on comanda.outbox for each row execute function comanda.refuse_view_write();
create or replace trigger refused before insert or update or delete on comanda.outbox for each statement execute function comanda.refuse_view_write();
