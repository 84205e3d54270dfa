-- What of an effect is hashed: its content as stored. Not the target (routing), not headers (trace), not when it is due.
create or replace function comanda.effect_content(name text, kind text, kind_version int, payload text, explicit_key text, ordering_key text, subject_version bigint)
returns text language sql stable
return jsonb_build_array(name, kind, kind_version, explicit_key, ordering_key, subject_version)::text || ' ' || payload;
