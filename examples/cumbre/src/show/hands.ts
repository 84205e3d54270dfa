import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';

/** An effect that a process was executing when it was killed. */
export interface InHand {
  readonly key: string;
  readonly target: string;
  /** Whether it was its turn: what waits behind it in its lane was held, and not executed. */
  readonly head: boolean;
}

const REST_WITHIN_MS = 1_500;

/** Waits until the server has noticed that a client is dead: what that had sent before is done by then. */
export async function untilAtRest(pool: Pool, applicationName: string): Promise<void> {
  const until = performance.now() + REST_WITHIN_MS;
  while (performance.now() < until) {
    const { rowCount } = await pool.query('select from pg_stat_activity where application_name = $1', [
      applicationName,
    ]);
    if (rowCount === 0) return;
    await delay(10);
  }
}

/**
 * What a relay holds: claimed, and not settled. Asked right after its death, this is what an ordinary program would have been in
 * the middle of.
 */
export async function inHands(pool: Pool, relay: string): Promise<readonly InHand[]> {
  const { rows } = await pool.query<InHand>(
    `select s.idempotency_key as key, s.target, s.blocked_by is null as head from comanda.effect_state s where s.relay = $1 and s.state = 'sending'`,
    [relay],
  );
  return rows;
}

/** Which of these effects have not ended yet. */
export async function stillOpen(pool: Pool, keys: readonly string[]): Promise<readonly string[]> {
  if (keys.length === 0) return [];
  const { rows } = await pool.query<{ key: string }>(
    `select s.idempotency_key as key from comanda.effect_state s
      where s.idempotency_key = any ($1) and s.state not in ('completed', 'failed', 'cancelled')`,
    [keys],
  );
  return rows.map(({ key }) => key);
}
