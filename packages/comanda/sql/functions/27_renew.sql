-- Prolongs leases that the caller still holds. request: {relay, leaseMs, lanes: [{lane, fence}]}. result: ok | busy (again) | lost (stop: somebody else owns it, or the lease is over)
create or replace function comanda.renew(request jsonb) returns table (lane text, fence bigint, result text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set plan_cache_mode = force_generic_plan as $fn$
#variable_conflict use_column
declare
  lease interval := (request ->> 'leaseMs')::float8 * interval '1 millisecond';
  al text[]; af bigint[]; ol text[]; of_ bigint[];
begin
  perform set_config('synchronous_commit', 'on', true);
  select array_agg(x ->> 'lane'), array_agg((x ->> 'fence')::bigint) into al, af from jsonb_array_elements(request -> 'lanes') x;
  select array_agg(s.lane), array_agg(s.fence) into ol, of_
    from (select l.lane, l.fence, l.owner, l.ready_at from comanda.lane l where l.lane = any (al) order by l.lane for update skip locked) s
    join unnest(al, af) x (lane, fence) on x.lane = s.lane and x.fence = s.fence where s.owner is not null and s.ready_at > clock_timestamp();
  update comanda.lane l set ready_at = clock_timestamp() + lease where l.lane = any (ol);
  return query
    select x.l, x.f, case
        when exists (select from unnest(ol, of_) o (l, f) where o.l = x.l and o.f = x.f) then 'ok'
        when exists (select from comanda.lane l where l.lane = x.l and l.fence = x.f and l.owner is not null and l.ready_at > clock_timestamp()) then 'busy'
        else 'lost' end
      from unnest(al, af) x (l, f);
end
$fn$;
