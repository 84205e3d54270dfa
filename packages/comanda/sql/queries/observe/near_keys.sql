-- Keys that somebody who typed $1 may have meant: decisions about a subject of that name, the neighbours in the index, and the newest decisions.
select x.key, x.subject, bool_or(x.same_subject) as same_subject from (
    (select r.key, r.subject, true as same_subject from comanda.run r where r.subject = $1::text and r.subject <> '' order by r.id desc limit 20)
    union all
    (select r.key, r.subject, false from comanda.run r where r.key < $1 order by r.key desc limit 20)
    union all
    (select r.key, r.subject, false from comanda.run r where r.key > $1 order by r.key limit 20)
    union all
    (select r.key, r.subject, false from comanda.run r order by r.id desc limit 300)) x
  group by x.key, x.subject;
