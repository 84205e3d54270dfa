-- The decision under a key, with the state its effects give it.
select r.id::text as run_id, r.key, r.subject, r.kind, r.actor_type, r.actor_id, r.on_behalf_of::text as on_behalf_of, r.by_agent, r.tenant, r.reason, r.trigger_origin,
    r.workflow_version, r.endpoint_class, r.model, r.model_revision, r.validation, r.repairs, v.state, v.effects, v.open_effects, r.attempts, r.failure_class,
    r.lease_owner, (select o.key from comanda.run o where o.id = r.supersedes) as supersedes_key, (select o.key from comanda.run o where o.id = r.superseded_by) as superseded_by_key,
    to_char(r.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as decided_at,
    (extract(epoch from clock_timestamp() - r.created_at) * 1000)::float8 as decided_ms_ago,
    to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now,
    array(select e.id::text from comanda.effect e where e.run_id = r.id order by e.id) as effect_ids
  from comanda.run r join comanda.run_ledger v on v.id = r.id
  where r.key = $1::text;
