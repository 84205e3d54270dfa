select effect_type, aggregate_id, idempotency_key, payload, status
  from comanda.outbox where aggregate_id = 'ORD-2041' order by id;
