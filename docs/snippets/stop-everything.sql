-- #region stop
select * from comanda.switch_set('{
  "scope": "all", "mode": "stop",
  "by": "ana", "reason": "refunds of wrong amounts",
  "owner": "ana", "backup": "bruno"
}');
-- #endregion

-- #region confirm
select id, switch_version, beat_at, beat_at > clock_timestamp() - interval '30 seconds' as heard
  from comanda.relay where stopped_at is null;
-- #endregion

-- #region scope
select * from comanda.switch_set('{"scope": "target:payments", "mode": "hold", "by": "ana", "reason": "gateway maintenance"}');
-- #endregion

-- #region start
select * from comanda.switch_set('{"scope": "all", "mode": "run", "by": "ana", "reason": "amounts are right again"}');
-- #endregion

-- #region who
select at, actor, act, subject, reason, detail ->> 'mode' as mode from comanda.audit where act = 'switch' order by id;
-- #endregion
