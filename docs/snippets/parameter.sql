select run_id, created from comanda.decide($1::text::jsonb);
