-- Rights. Nothing is executable by PUBLIC. Roles are made when the installer may; without CREATEROLE an administrator makes them (comanda migrate --sql prints this) and migrates again.
revoke all on schema comanda from public;
revoke execute on all functions in schema comanda from public;
do $do$
declare
  prefix text := coalesce(nullif(current_setting('comanda.role_prefix', true), ''), 'comanda');
  ns text := (select quote_ident(n.nspname) from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = 'comanda.run'::regclass);
  may_create boolean := (select r.rolcreaterole or r.rolsuper from pg_roles r where r.rolname = current_user);
  door record;
  role text;
  callable text;
  columns text;
begin
  for door in
    select * from (values
      ('app', array['decide', 'try_decide', 'decide_many', 'cancel'], array['outbox', 'run_ledger', 'effect_state', 'installation']),
      ('relay', array['relay_beat', 'publish_kinds', 'route', 'claim', 'payloads', 'may_send', 'settle', 'late_evidence', 'renew', 'sweep', 'set_awake', 'wake_channel', 'adoption', 'hidden_rows', 'target_report', 'target_probe', 'targets_beat'],
        array['installation', 'effect_state', 'attention', 'gauges', 'unattended']),
      ('approver', array[]::text[], array['outbox', 'run_ledger', 'effect_state', 'installation']),
      ('operator', array['cancel', 'request', 'switch_set', 'target_set', 'adopt', 'adoption', 'hidden_rows', 'fingerprint'],
        array['outbox', 'run_ledger', 'effect_state', 'attention', 'gauges', 'unattended', 'installation', 'run', 'effect', 'effect_key', 'waiting', 'attempt', 'outcome', 'lane', 'effect_queue',
          'effect_arrival', 'effect_request', 'effect_kind', 'policy', 'target', 'switch', 'relay', 'audit']),
      ('reader', array['adoption', 'hidden_rows', 'fingerprint'],
        array['outbox', 'run_ledger', 'effect_state', 'attention', 'gauges', 'unattended', 'installation', 'run', 'effect', 'effect_key', 'waiting', 'attempt', 'outcome', 'lane', 'effect_queue',
          'effect_arrival', 'effect_request', 'effect_kind', 'policy', 'target', 'switch', 'relay', 'audit'])
    ) d (role, functions, relations)
  loop
    -- Groups of every prefix that was ever used here: what an upgrade replaced has lost its grants. Logins are left to whoever gave them a right.
    for role in
      select prefix || '_' || door.role
      union select r.rolname::text from pg_namespace n cross join lateral aclexplode(n.nspacl) g join pg_roles r on r.oid = g.grantee
        where n.oid = to_regnamespace(ns) and g.privilege_type = 'USAGE' and not r.rolcanlogin and r.rolname like '%\_' || door.role
          -- The name alone gives nobody the right to act.
          and (door.role in ('approver', 'reader') or exists (select from pg_proc p cross join lateral aclexplode(p.proacl) x
            where p.pronamespace = n.oid and p.proname = any (door.functions) and x.grantee = g.grantee and x.privilege_type = 'EXECUTE'))
    loop
      if not exists (select from pg_roles r where r.rolname = role) then
        if not may_create then
          continue;
        end if;
        begin
          execute format('create role %I nologin', role);
        exception when duplicate_object or unique_violation then null;  -- another installation of this cluster was faster
        end;
      end if;
      execute format('grant usage on schema %s to %I', ns, role);
      for callable in
        select p.oid::regprocedure::text from pg_proc p where p.pronamespace = to_regnamespace(ns) and p.proname = any (door.functions)
      loop
        execute format('grant execute on function %s to %I', callable, role);
      end loop;
      for callable in
        select format('%s.%I', ns, c.relname) from pg_class c where c.relnamespace = to_regnamespace(ns) and c.relname = any (door.relations)
      loop
        execute format('grant select on %s to %I', callable, role);
      end loop;
      -- A write through a read-only view is answered with the function to call, not with a missing right. By column: the right on the whole view would allow LOCK TABLE on all that it reads.
      for callable, columns in
        select format('%s.%I', ns, c.relname), (select string_agg(quote_ident(a.attname), ', ') from pg_attribute a where a.attrelid = c.oid and a.attnum > 0)
          from pg_class c where c.relnamespace = to_regnamespace(ns) and c.relname in ('outbox', 'run_ledger') and c.relname = any (door.relations)
      loop
        execute format('grant insert (%s), update (%s) on %s to %I', columns, columns, callable, role);
      end loop;
    end loop;
  end loop;
end
$do$;
