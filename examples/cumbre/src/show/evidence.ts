import type { Pool } from 'pg';

/** What the database says about one effect. */
export interface EffectLine {
  /** The idempotency key: what the provider was given. */
  readonly key: string;
  readonly kind: string;
  /** Which provider, hence which book. */
  readonly target: string;
  readonly state: string;
  /** Why it ended so, or what it waits for; `null` when there is nothing to say. */
  readonly reason: string | null;
  /** Key of the decision that implies it. */
  readonly decision: string;
  /** What was decided to be sent, byte for byte. */
  readonly payload: string;
  /** Whether it was ever uncertain what had become of it. */
  readonly unknown: boolean;
  /** What the last look-up at the provider found. */
  readonly found: 'applied' | 'absent' | null;
  /** Its lane and its place in it, by the shop's own count of movements; `null` without an ordering key. */
  readonly lane: string | null;
  readonly place: number | null;
}

/** What the database says about one order. */
export interface OrderLine {
  readonly order: string;
  readonly status: string;
  /** How often it was changed, plus one. */
  readonly version: number;
  /** Key of its decision; `null` when there is none. */
  readonly decision: string | null;
}

/** Reads every decided effect, and every order, as the database has them now. */
export async function readEvidence(
  pool: Pool,
): Promise<{ effects: readonly EffectLine[]; orders: readonly OrderLine[] }> {
  const effects = await pool.query<EffectLine>(
    `select s.idempotency_key as key, s.kind, s.target, s.state, coalesce(s.ended_reason, s.blocked_by) as reason, s.run_key as decision, e.payload,
        s.state = 'unknown' or a.looked or a.open or a.said_unknown as unknown, a.found, 'sku:' || m.sku as lane, m.n::int as place
      from comanda.effect_state s
      join comanda.effect e on e.id = s.effect_id
      left join shop.stock_move m on e.ordering_key = 'sku:' || m.sku and s.subject = 'order:' || m.order_id
      cross join lateral (
        select coalesce(bool_or(x.phase = 'look'), false) as looked, coalesce(bool_or(x.outcome = 'unknown'), false) as said_unknown,
            -- A start without an end: the relay died in between.
            coalesce(bool_or(x.phase = 'start' and not exists (
              select from comanda.attempt y where y.effect_id = x.effect_id and y.fence = x.fence and y.phase = 'end')), false) as open,
            (array_agg(x.outcome order by x.at desc) filter (where x.phase = 'look' and x.outcome in ('applied', 'absent')))[1] as found
          from comanda.attempt x where x.effect_id = s.effect_id) a
      order by s.effect_id`,
  );
  const orders = await pool.query<OrderLine>(
    `select o.id as "order", o.status, o.version, r.key as decision
      from shop.orders o left join comanda.run r on r.subject = 'order:' || o.id order by o.id`,
  );
  return { effects: effects.rows, orders: orders.rows };
}

/** How many holes the database finds in itself: work that nothing would ever look at again. */
export async function countUnattended(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from comanda.unattended');
  return rows[0]?.n ?? 0;
}
