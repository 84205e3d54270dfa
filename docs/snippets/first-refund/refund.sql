begin;
insert into orders values ('ORD-2042', 'refunded') on conflict (id) do update set status = 'refunded';
select run_id, created from comanda.decide('{
  "key": "refund:ORD-2042",
  "subject": "order:ORD-2042",
  "actor": {"type": "human", "id": "ana"},
  "effects": [{"kind": "issue_refund", "payload": {"order": "ORD-2042", "amount": 310, "currency": "MXN"}}]
}');
commit;
