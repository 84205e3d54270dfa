-- What claimed effects say: read apart from the claim, without locks. request: {effects: [ids in the order of the claim], suspects?: [ids], laneBytes?}
-- With `laneBytes`, of each lane the first one, and those behind it while all together have no more bytes: a claim counts effects, memory counts bytes (M06).
create or replace function comanda.payloads(request jsonb)
returns table (effect_id bigint, payload text, idempotency_key text, run_key text, subject text, name text, kind_version int, headers text, subject_version text,
  started_ms_ago bigint, started_fence bigint, evidence text, evidence_provider_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off
as $fn$
  select e.id, e.payload, coalesce(e.explicit_key, r.key || '/' || e.name), r.key, r.subject, e.name, e.kind_version, e.headers, e.subject_version::text,
      s.ms_ago, s.fence, v.outcome, v.provider_id
    from (
      select f.*, w.n, sum(octet_length(f.payload)) over (partition by coalesce('k:' || f.ordering_key, 'e:' || f.id) order by w.n) as bytes,
          row_number() over (partition by coalesce('k:' || f.ordering_key, 'e:' || f.id) order by w.n) as nth
        from jsonb_array_elements_text(request -> 'effects') with ordinality w (id, n)
        cross join lateral (select x.* from comanda.effect x where x.id = w.id::bigint limit 1) f) e
    join comanda.run r on r.id = e.run_id
    left join lateral (
      select (extract(epoch from clock_timestamp() - a.at) * 1000)::bigint as ms_ago, a.fence from comanda.attempt a
        where e.id = any (array(select jsonb_array_elements_text(request -> 'suspects')::bigint)) and a.effect_id = e.id and a.phase = 'start'
          -- An attempt that certainly did nothing, and attempts before a believed `absent`, are resolved. Before: by the fence, which never steps back, as clocks do.
          and not exists (select from comanda.attempt x where x.effect_id = a.effect_id and x.fence = a.fence and x.phase = 'end' and x.outcome = 'retry')
          and not exists (select from comanda.attempt x where x.effect_id = a.effect_id and x.phase = 'look' and x.outcome = 'absent' and x.fence > a.fence)
        order by a.fence desc limit 1) s on true
    left join lateral (
      select a.outcome, a.provider_id from comanda.attempt a
        where e.id = any (array(select jsonb_array_elements_text(request -> 'suspects')::bigint)) and a.effect_id = e.id and a.phase = 'late' and a.outcome = 'completed' limit 1) v on true
    where e.nth = 1 or request ->> 'laneBytes' is null or e.bytes <= (request ->> 'laneBytes')::bigint
$fn$;
