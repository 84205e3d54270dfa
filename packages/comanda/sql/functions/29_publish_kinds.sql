-- Tells the database what a deployment's kinds are: risk, target, key contract. decide() takes the target from here, never from a caller who differs.
-- request: {by, kinds: [{kind, version, target, risk, idempotency, onUnknown, maxAttempts, timeoutMs, redact?, inputSchema?}]}
create or replace function comanda.publish_kinds(request jsonb) returns table (kind text, version int)
language sql security definer set search_path = pg_catalog, pg_temp
as $fn$
  insert into comanda.effect_kind as k (kind, version, target, risk, idempotency, on_unknown, contract, redaction, input_schema, max_attempts, timeout_ms, published_by)
    select x ->> 'kind', coalesce((x ->> 'version')::int, 1), x ->> 'target', x ->> 'risk', x ->> 'idempotency', x ->> 'onUnknown', coalesce(x -> 'contract', '{}'),
        array(select jsonb_array_elements_text(coalesce(x -> 'redact', '[]'))), x -> 'inputSchema', (x ->> 'maxAttempts')::int, (x ->> 'timeoutMs')::bigint, request ->> 'by'
      from jsonb_array_elements(request -> 'kinds') x order by 1, 2
    on conflict (kind, version) do update set target = excluded.target, risk = excluded.risk, idempotency = excluded.idempotency, on_unknown = excluded.on_unknown,
      contract = excluded.contract, redaction = excluded.redaction, input_schema = excluded.input_schema, max_attempts = excluded.max_attempts,
      timeout_ms = excluded.timeout_ms, published_by = excluded.published_by, published_at = clock_timestamp()
      where (k.target, k.risk, k.idempotency, k.on_unknown, k.contract, k.redaction, k.input_schema, k.max_attempts, k.timeout_ms)
        is distinct from (excluded.target, excluded.risk, excluded.idempotency, excluded.on_unknown, excluded.contract, excluded.redaction, excluded.input_schema, excluded.max_attempts, excluded.timeout_ms)
    returning kind, version
$fn$;
