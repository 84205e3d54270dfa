-- #region set
select * from comanda.target_set('{
  "target": "payments", "by": "ana", "reason": "their notice of today",
  "ratePerSecond": 10, "concurrency": 5
}');
-- #endregion

-- #region pause
select * from comanda.target_set('{"target": "payments", "pauseMs": 7200000, "by": "ana", "reason": "maintenance"}');
select * from comanda.target_set('{"target": "payments", "resume": true, "by": "ana", "reason": "maintenance is over"}');
-- #endregion

-- #region look
select target, breaker, breaker_reason, breaker_until, paused_until, pause_reason, rate_per_second, concurrency, set_by
  from comanda.target;
-- #endregion
