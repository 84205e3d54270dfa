-- Records a decision and its effects in the caller's transaction. Raises what it refuses, with an SQLSTATE of class CM.
create or replace function comanda.decide(decision jsonb)
returns table (run_id bigint, created boolean, run_key text, run_state text, effects_hash text, decided_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
declare
  r record;
begin
  select * into r from comanda.try_decide(decision);
  if r.status not in ('decided', 'existing') then
    raise exception '%: %', coalesce(r.run_key, 'decision'), r.problem using
      errcode = case r.status when 'conflict' then 'CM001' when 'invalid' then 'CM002' when 'invalid_payload' then 'CM003' when 'too_large' then 'CM004'
        when 'too_many_lanes' then 'CM005' when 'key_taken' then 'CM006' else 'CM002' end,
      detail = jsonb_strip_nulls(jsonb_build_object('key', r.run_key, 'runId', r.run_id::text, 'storedHash', r.effects_hash, 'firstSeenAt', r.decided_at))::text,
      hint = case r.status when 'conflict' then 'Same business event: send the same content. A correction: use a new key. comanda explain shows what was decided.'
        when 'key_taken' then 'An explicit key names one effect for ever. Drop "key" to use <decision key>/<name>.' else 'Nothing was written.' end;
  end if;
  run_id := r.run_id;
  created := r.created;
  run_key := r.run_key;
  run_state := r.run_state;
  effects_hash := r.effects_hash;
  decided_at := r.decided_at;
  return next;
end
$fn$;
