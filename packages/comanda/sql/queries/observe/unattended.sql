-- Structural holes; empty at all times.
select u.what, u.effect_id::text as effect_id, u.thing from comanda.unattended u order by u.what, u.effect_id limit $1::int;
