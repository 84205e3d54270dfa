-- The key of the decision that a word means: its own key, `<key>/<name>`, or the explicit key of one of its effects.
select x.key from (
    select r.key, 1 as rank from comanda.run r where r.key = $1::text
    union all
    select r.key, 2 from comanda.run r join comanda.effect e on e.run_id = r.id
      where r.key = substring($1 from '^(.*)/[^/]*$') and e.name = substring($1 from '[^/]*$')
    union all
    select r.key, 3 from comanda.effect_key k join comanda.effect e on e.id = k.effect_id join comanda.run r on r.id = e.run_id where k.key = $1) x
  order by x.rank
  limit 1;
