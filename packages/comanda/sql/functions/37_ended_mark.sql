-- Moves the mark below which every effect has ended: `unattended` looks for lost ones only above it. Part of sweep(); a bounded number of rows each time.
-- Numbers are drawn before COMMIT, so the mark only enters a range of numbers when every transaction that could have drawn one of them is over.
create or replace function comanda.advance_ended_mark(most int) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $fn$
declare
  drawn bigint := coalesce(pg_sequence_last_value('comanda.effect_id'::regclass), 0);
  m comanda.ended_mark; e record; reached bigint; seen int := 0; blocked boolean := false;
begin
  -- `drawn` must be older than the snapshots below; with one snapshot for the whole transaction it is not.
  if current_setting('transaction_isolation') <> 'read committed' then
    return null;
  end if;
  select * into m from comanda.ended_mark x for update skip locked;
  if m.singleton is null then
    return null;
  end if;
  reached := m.effect_id;
  if m.effect_id < m.candidate and m.candidate_xid is null then
    -- A transaction after the one that wrote the candidate: whoever drew a number up to it has a lower id.
    update comanda.ended_mark x set candidate_xid = pg_current_xact_id();
    return reached;
  end if;
  if m.effect_id < m.candidate and m.candidate_xid <= pg_snapshot_xmin(pg_current_snapshot()) then
    for e in select x.id from comanda.effect x where x.id > m.effect_id and x.id <= m.candidate order by x.id limit most loop
      if not exists (select from comanda.outcome o where o.effect_id = e.id) then
        blocked := true;
        exit;
      end if;
      reached := e.id;
      seen := seen + 1;
    end loop;
    if not blocked and seen < most then
      reached := m.candidate;
    end if;
  end if;
  -- A number of another cluster (after a restore) can lie in the future: drawn anew.
  if reached >= m.candidate or m.candidate_xid > pg_snapshot_xmax(pg_current_snapshot()) then
    update comanda.ended_mark x set effect_id = reached, candidate = greatest(drawn, reached), candidate_xid = null
      where x.effect_id <> reached or x.candidate < drawn or m.candidate_xid > pg_snapshot_xmax(pg_current_snapshot());
  elsif reached > m.effect_id then
    update comanda.ended_mark x set effect_id = reached;
  end if;
  return reached;
end
$fn$;
