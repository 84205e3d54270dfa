-- The effects that a word can mean: an id, the key of a decision (all its effects), `<key>/<name>`, or an explicit key.
select e.id::text as effect_id, 'id' as matched from comanda.effect e where e.id = case when $1::text ~ '^\d{1,18}$' then $1::bigint end
union all
select e.id::text, 'decision' from comanda.run r join comanda.effect e on e.run_id = r.id where r.key = $1
union all
select e.id::text, 'name' from comanda.run r join comanda.effect e on e.run_id = r.id
  where r.key = substring($1 from '^(.*)/[^/]*$') and e.name = substring($1 from '[^/]*$')
union all
select k.effect_id::text, 'explicit key' from comanda.effect_key k where k.key = $1;
