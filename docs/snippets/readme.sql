-- #region decide
begin;
update orders set status = 'refunded' where id = 'ORD-2041';
select * from comanda.decide('{
  "key": "refund:ORD-2041",
  "subject": "order:ORD-2041",
  "effects": [{"kind": "issue_refund", "payload": {"order": "ORD-2041", "amount": 2154.00}}]
}');
commit;
-- #endregion

-- #region look
select effect_type, status, attempts, provider_id
  from comanda.outbox where aggregate_id = 'ORD-2041';
-- #endregion
