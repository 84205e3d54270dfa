-- Every destination that has a breaker, a pause or a limit, what is wrong first.
select t.target, t.breaker, t.breaker_reason, (extract(epoch from clock_timestamp() - t.opened_at) * 1000)::float8 as open_ms,
    case when t.breaker <> 'closed' then greatest(extract(epoch from t.breaker_until - clock_timestamp()) * 1000, 0)::float8 end as probe_in_ms, t.probe_by,
    case when t.paused_until > clock_timestamp() then (extract(epoch from t.paused_until - clock_timestamp()) * 1000)::float8 end as paused_ms,
    case when t.paused_until > clock_timestamp() then t.pause_reason end as pause_reason, t.rate_per_second::float8 as rate_per_second, t.concurrency, t.set_by,
    coalesce((select jsonb_agg(jsonb_build_object('relay', s ->> 'relay', 'slots', case when t.concurrency is not null then s -> 'slots' end, 'rate', case when t.rate_per_second is not null then s -> 'rate' end)
        order by s ->> 'relay') from jsonb_array_elements(t.shares) s where (s ->> 'until')::float8 > extract(epoch from clock_timestamp()) * 1000), '[]') as shares
  from comanda.target t
  order by t.breaker = 'closed', t.paused_until is null or t.paused_until <= clock_timestamp(), t.target;
