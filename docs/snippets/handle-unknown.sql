-- #region find
select effect_id, run_key, kind, target, reason, since, what_to_do
  from comanda.attention where what = 'unknown outcome';
-- #endregion

-- #region evidence
select a.at, a.phase, a.attempt, a.outcome, a.status, a.error_class, a.error_text, a.provider_id
  from comanda.attempt a
  join comanda.effect_state s using (effect_id)
 where s.run_key = 'mail:ORD-2041'
 order by a.at;
-- #endregion

-- #region resolve
select answer from comanda.request(jsonb_build_object(
  'effect', (select effect_id from comanda.effect_state where run_key = 'mail:ORD-2041'),
  'action', 'resolve',
  'as', 'completed',
  'providerId', 'msg_8c21',
  'by', 'ana@cumbre.example',
  'reason', 'found in the provider''s log'));
-- #endregion

-- #region answered
select action, requested_by, answer, answered_at from comanda.effect_request order by id desc limit 5;
-- #endregion
