import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';

/** What two relays have died over, or one, and the next has it in hand: one more death would put it aside as a killer of processes. */
const AT_RISK = `
select exists (
  select from comanda.lane l where l.lost > 0 and l.parked_by is null and l.lost + (l.owner is not null)::int >= 2)
  or exists (select from comanda.lane l where l.owner is not null and l.ready_at < clock_timestamp()) as risky`;

const PATIENCE_MS = 20_000;

/** Waits until a death would be nobody's third. `false` when that moment does not come: another disturbance, then. */
export async function spared(pool: Pool, signal: AbortSignal): Promise<boolean> {
  const until = performance.now() + PATIENCE_MS;
  while (performance.now() < until && !signal.aborted) {
    const risky = await pool.query<{ risky: boolean }>(AT_RISK).then(
      ({ rows }) => rows[0]?.risky !== false,
      () => true,
    );
    if (!risky) return true;
    await delay(100);
  }
  return false;
}
