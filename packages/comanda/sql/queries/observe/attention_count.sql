-- How many things wait for a person.
select count(*)::float8 as n from comanda.attention;
