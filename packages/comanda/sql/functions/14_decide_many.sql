-- Many decisions in one call. One row per input, in the order given; duplicates inside the batch are one decision. Keys are taken in sorted order, so that two
-- batches cannot deadlock. A refused decision is a row with its status; the others stand.
create or replace function comanda.decide_many(decisions jsonb)
returns table (n int, status text, run_id bigint, created boolean, run_key text, run_state text, effects_hash text, decided_at timestamptz, problem text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $fn$
#variable_conflict use_column
begin
  if decisions is null or jsonb_typeof(decisions) <> 'array' or jsonb_array_length(decisions) > 10000 then
    raise exception 'decide_many takes a JSON array of at most 10000 decisions' using errcode = 'CM002';
  end if;
  return query
    with decided as materialized (select o.n as position, x.* from (
      select (d.n - 1)::int as n, d.v from jsonb_array_elements(decisions) with ordinality d (v, n)
        order by d.v ->> 'key' collate "C", d.n offset 0) o
      cross join lateral comanda.try_decide(o.v) x)
    select * from decided d order by d.position;
end
$fn$;
