-- #region one-statement
with changed as (
  update orders set status = 'refunded' where id = 'ORD-2041' returning id, total, currency
)
select d.run_id, d.created
  from changed, comanda.decide(jsonb_build_object(
    'key', 'refund:' || changed.id,
    'subject', 'order:' || changed.id,
    'actor', jsonb_build_object('type', 'system', 'id', 'order-triage'),
    'effects', jsonb_build_array(
      jsonb_build_object('kind', 'issue_refund', 'payload',
        jsonb_build_object('order', changed.id, 'amount', changed.total, 'currency', changed.currency))))) d;
-- #endregion

-- #region try
select status, created, problem
  from comanda.try_decide('{"key": "refund:ORD-2041", "subject": "order:ORD-2041", "effects": []}');
-- #endregion

-- #region many
select n, status, run_id
  from comanda.decide_many('[
    {"key": "note:ORD-2041", "effects": [{"kind": "crm_note", "payload": {"text": "refunded"}}]},
    {"key": "note:ORD-2042", "effects": [{"kind": "crm_note", "payload": {"text": "refunded"}}]}
  ]');
-- #endregion

-- #region cancel
select name, answer from comanda.cancel('{"key": "note:ORD-2042", "by": "ana", "reason": "sent by hand"}');
-- #endregion

-- #region look
select status, attempts, last_error from comanda.outbox where aggregate_id = 'ORD-2041';

select status, effects, open_effects from comanda.run_ledger where order_id = 'ORD-2041';
-- #endregion
