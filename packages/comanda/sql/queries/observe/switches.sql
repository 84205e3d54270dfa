-- Every scope of the switch, `all` first.
select s.scope, s.mode, s.reason, s.owner_name, s.backup_name, s.set_by, s.version::text as version,
    to_char(s.set_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as set_at,
    (extract(epoch from clock_timestamp() - s.set_at) * 1000)::float8 as set_ms_ago
  from comanda.switch s
  order by s.scope <> 'all', s.scope;
