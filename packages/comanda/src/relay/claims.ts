import { LANE_PAYLOADS_MAX_BYTES } from '../kernel/limits.js';
import { Stop } from '../kernel/stop.js';
import type { ClaimedRow, KindRequest, PayloadRow } from '../outbox/engine.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import type { RelayEnvironment } from './environment.js';

/** What one look at the tables brought. */
export interface Found {
  readonly lanes: number;
  /** Arrivals moved onto lanes, also those that were not leased here. */
  readonly routed: number;
}

/** Arrivals moved by one call. Above 500 there is no gain, only a larger unknown set after a crash. */
const ROUTE_BATCH = 500;
/** Arrivals moved at least: what cannot be leased here must not keep others behind it. */
const ROUTE_MIN = 100;
const READ_AGAIN_MS = 50;

/**
 * Looks once: claims due lanes, then routes arrivals into the places that are left, so that older work goes first. Ids come under locks, payloads in a
 * second statement without any (P5). Each answer is begun before the next question, so that a failure loses no lease.
 *
 * @param room free places per kind
 * @param begin starts lanes; one whose payloads could not be read comes without effects, and is given back: nothing of it was sent
 */
export async function lookOnce(
  env: RelayEnvironment,
  room: readonly KindRequest[],
  begin: (lanes: readonly ClaimedLane[]) => void,
): Promise<Found> {
  const take = async (rows: readonly ClaimedRow[], askedAt: number): Promise<readonly ClaimedLane[]> => {
    const found = lanesOf(env, rows, askedAt);
    if (found.length === 0) return [];
    const payloads = await readPayloads(env, rows, askedAt);
    const lanes = found.map(({ lane, rows: own }) => Object.assign(lane, { effects: effectsOf(own, payloads) }));
    begin(lanes);
    return lanes;
  };
  const free = room.filter((kind) => kind.lanes > 0);
  const claimedAt = env.clock.monotonicMs();
  const claimed = free.length === 0 ? [] : await env.engine.claim({ relay: env.id, leaseMs: env.leaseMs, kinds: free });
  const claimedLanes = await take(claimed, claimedAt);
  const taken = new Map<string, number>();
  for (const { kind } of claimedLanes) taken.set(kind.kind, (taken.get(kind.kind) ?? 0) + 1);
  const left = free
    .map((kind) => ({ ...kind, lanes: kind.lanes - (taken.get(kind.kind) ?? 0) }))
    .filter((kind) => kind.lanes > 0);
  const places = left.reduce((sum, kind) => sum + kind.lanes, 0);
  // Without a free place nothing is moved: an arrival that is leased as it is moved costs one statement less, here or in another relay.
  if (places === 0) return { lanes: claimedLanes.length, routed: 0 };
  const routedAt = env.clock.monotonicMs();
  const routed = await env.engine.route({
    relay: env.id,
    leaseMs: env.leaseMs,
    kinds: left,
    batch: Math.min(Math.max(places, ROUTE_MIN), ROUTE_BATCH),
  });
  const routedLanes = await take(routed, routedAt);
  return { lanes: claimedLanes.length + routedLanes.length, routed: routed[0]?.routed ?? 0 };
}

function lanesOf(
  env: RelayEnvironment,
  rows: readonly ClaimedRow[],
  askedAt: number,
): { lane: ClaimedLane; rows: ClaimedRow[] }[] {
  const lanes = new Map<string, { lane: ClaimedLane; rows: ClaimedRow[] }>();
  for (const row of rows) {
    const kind = env.registry.get(row.kind);
    if (row.lane === null || kind === undefined) continue;
    let found = lanes.get(row.lane);
    if (found === undefined) {
      const clockGapMs = env.clock.wallMs() - env.clock.monotonicMs();
      const times = { trustedUntil: askedAt + env.leaseMs, heldSince: askedAt, clockGapMs };
      found = {
        lane: {
          lane: row.lane,
          fence: row.fence,
          kind,
          effects: [],
          ...times,
          looking: false,
          waiting: false,
          stop: new Stop(),
        },
        rows: [],
      };
      lanes.set(row.lane, found);
    }
    if (row.pos !== null) found.rows.push(row);
  }
  return [...lanes.values()];
}

/** Tried again while half of the lease is left; empty when they could not be read. */
async function readPayloads(
  env: RelayEnvironment,
  rows: readonly ClaimedRow[],
  askedAt: number,
): Promise<ReadonlyMap<string, PayloadRow>> {
  const real = rows.filter((row) => row.pos !== null && row.lane !== null);
  const suspects = real.filter((row) => row.suspect || row.trouble === 'unknown').map((row) => row.effect_id);
  for (;;) {
    try {
      const effects = real.map((row) => row.effect_id);
      const found = await env.engine.payloads({ effects, suspects, laneBytes: LANE_PAYLOADS_MAX_BYTES });
      return new Map(found.map((row) => [row.effect_id, row]));
    } catch (error) {
      env.emit({ type: 'warning', code: 'payloads_failed', message: 'claimed effects could not be read', error });
      if (env.givenUp.aborted || env.clock.monotonicMs() > askedAt + env.leaseMs / 2) return new Map();
      await env.clock.sleep(READ_AGAIN_MS, env.givenUp);
    }
  }
}

function effectsOf(rows: readonly ClaimedRow[], payloads: ReadonlyMap<string, PayloadRow>): ClaimedEffect[] {
  const effects: ClaimedEffect[] = [];
  for (const row of rows) {
    const payload = payloads.get(row.effect_id);
    // The prefix ends where something is missing, or would be too much at once: order before completeness. What is behind it has its turn with the next claim.
    if (payload === undefined) break;
    effects.push({ row, payload });
  }
  return effects;
}
