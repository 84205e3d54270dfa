import type { Pool } from 'pg';

/** How many effects of one kind are where. */
export interface KindCounts {
  readonly kind: string;
  readonly pending: number;
  readonly sending: number;
  readonly unknown: number;
  readonly failed: number;
  readonly completed: number;
}

/** The outbox at one moment. */
export interface Snapshot {
  readonly kinds: readonly KindCounts[];
  readonly decisions: number;
  /** Age of the oldest effect that has not ended; 0 when there is none. */
  readonly oldestMs: number;
}

/** Cheap enough for a board: what is unfinished is read from the live tables, what has ended is counted. */
export async function takeSnapshot(pool: Pool): Promise<Snapshot> {
  const { rows } = await pool.query<KindCounts & { oldest_ms: number; decisions: number }>(
    `with live as (
        select a.effect_id, a.kind, 'pending' as state from comanda.effect_arrival a
        union all select w.effect_id, w.kind, 'pending' from comanda.waiting w
        union all select q.effect_id, q.kind,
            case when q.pos = min(q.pos) over (partition by q.lane) and l.trouble is not null then l.trouble
              when l.owner is not null and l.ready_at > now() and q.pos <= l.inflight_to then 'sending' else 'pending' end
          from comanda.effect_queue q join comanda.lane l on l.lane = q.lane),
      everything as (
        select v.kind, v.state, e.created_at from live v join comanda.effect e on e.id = v.effect_id
        union all select e.kind, o.state, null from comanda.outcome o join comanda.effect e on e.id = o.effect_id)
      select kind, count(*) filter (where state = 'pending')::int as pending, count(*) filter (where state = 'sending')::int as sending,
          count(*) filter (where state = 'unknown')::int as unknown, count(*) filter (where state in ('failed', 'cancelled'))::int as failed,
          count(*) filter (where state = 'completed')::int as completed,
          coalesce(extract(epoch from clock_timestamp() - min(created_at)) * 1000, 0)::float8 as oldest_ms,
          (select count(*)::int from comanda.run) as decisions
        from everything group by kind`,
  );
  return {
    kinds: rows.map(({ kind, pending, sending, unknown, failed, completed }) => ({
      kind,
      pending,
      sending,
      unknown,
      failed,
      completed,
    })),
    decisions: rows[0]?.decisions ?? 0,
    oldestMs: Math.max(0, ...rows.map(({ oldest_ms }) => oldest_ms)),
  };
}

/** Effects that have not ended. */
export function unfinished({ kinds }: Snapshot): number {
  return kinds.reduce((sum, { pending, sending, unknown }) => sum + pending + sending + unknown, 0);
}
