import { Stop } from '../kernel/stop.js';
import type { ClaimedRow, KindRequest } from '../outbox/engine.js';
import type { ClaimedLane } from './claimed-lane.js';
import type { RelayEnvironment } from './environment.js';

/** What one look at the tables brought. */
export interface Found {
  readonly lanes: readonly ClaimedLane[];
  /** Arrivals moved onto lanes, also those that were not leased here. */
  readonly routed: number;
}

/** Arrivals moved by one call. Above 500 there is no gain, only a larger unknown set after a crash. */
const ROUTE_BATCH = 500;

/**
 * Looks once: routes arrivals, claims due lanes, reads payloads. Ids come under locks, payloads in a second statement without any (P5).
 *
 * @param room free places per kind; `lanes` 0 leaves the kind out of claims
 */
export async function lookOnce(env: RelayEnvironment, room: readonly KindRequest[]): Promise<Found> {
  const askedAt = env.clock.monotonicMs();
  const kinds = room.filter((kind) => kind.lanes > 0);
  const routed = await env.engine.route({ relay: env.id, leaseMs: env.leaseMs, kinds, batch: ROUTE_BATCH });
  const leased = routed.filter((row) => row.lane !== null);
  const left = kinds
    .map((kind) => ({ ...kind, lanes: kind.lanes - leased.filter((row) => row.kind === kind.kind).length }))
    .filter((kind) => kind.lanes > 0);
  const claimedAt = env.clock.monotonicMs();
  const claimed = left.length === 0 ? [] : await env.engine.claim({ relay: env.id, leaseMs: env.leaseMs, kinds: left });
  const rows = [...leased.map((row) => ({ row, askedAt })), ...claimed.map((row) => ({ row, askedAt: claimedAt }))];
  return { lanes: await withPayloads(env, rows), routed: routed[0]?.routed ?? 0 };
}

async function withPayloads(
  env: RelayEnvironment,
  claimed: readonly { readonly row: ClaimedRow; readonly askedAt: number }[],
): Promise<readonly ClaimedLane[]> {
  const rows = claimed.map((item) => item.row).filter((row) => row.pos !== null);
  if (claimed.length === 0) return [];
  const suspects = rows.filter((row) => row.suspect || row.trouble === 'unknown').map((row) => row.effect_id);
  const payloads = new Map(
    (await env.engine.payloads({ effects: rows.map((row) => row.effect_id), suspects })).map((row) => [
      row.effect_id,
      row,
    ]),
  );
  const lanes = new Map<
    string,
    ClaimedLane & { effects: { row: ClaimedRow; payload: NonNullable<ReturnType<typeof payloads.get>> }[] }
  >();
  for (const { row, askedAt } of claimed) {
    const kind = env.registry.get(row.kind);
    if (row.lane === null || kind === undefined) continue;
    const ref = `${row.fence} ${row.lane}`;
    const lane = lanes.get(ref) ?? {
      lane: row.lane,
      fence: row.fence,
      kind,
      effects: [],
      trustedUntil: askedAt + env.leaseMs,
      heldSince: askedAt,
      stop: new Stop(),
    };
    lanes.set(ref, lane);
    const payload = payloads.get(row.effect_id);
    if (row.pos !== null && payload !== undefined) lane.effects.push({ row, payload });
  }
  return [...lanes.values()];
}
