import { createBatcher } from '../kernel/batcher.js';
import { isRetryableDatabaseError } from '../kernel/database-errors.js';
import { SETTLE_BATCH_MAX_ITEMS, SETTLE_BATCH_MAX_WAIT_MS, SETTLE_BUSY_BATCH_MAX_ITEMS } from '../kernel/limits.js';
import type { AttemptRecord, LaneResult, SettleLane } from '../outbox/engine.js';
import type { ClaimedLane } from './claimed-lane.js';
import type { RelayEnvironment } from './environment.js';

/** What is to be written about a lane. Lane and fence come from the claim. */
export type Settlement = Omit<SettleLane, 'lane' | 'fence'>;

/** What became of a settlement: written, or too late. */
export type Settled = 'ok' | 'fenced' | 'error';

/** Writes outcomes, many lanes in one round trip. */
export interface Settler {
  /** Resolves when the outcome is durable, or when somebody else owns the lane: then what was learned is kept as late evidence. */
  settle(lane: ClaimedLane, settlement: Settlement): Promise<Settled>;
  /** Writes what waits now. */
  flush(): Promise<void>;
}

const BUSY_AGAIN_MS = 3;
const DATABASE_DOWN_MS = 250;

/** Makes the settler of one relay. */
export function createSettler(env: RelayEnvironment): Settler {
  const batcher = createBatcher<SettleLane, Settled>({
    maxItems: SETTLE_BATCH_MAX_ITEMS,
    maxBatchItems: SETTLE_BUSY_BATCH_MAX_ITEMS,
    maxWaitMs: SETTLE_BATCH_MAX_WAIT_MS,
    clock: env.clock,
    run: (lanes) => write(env, lanes),
  });
  return {
    settle: async (lane, settlement) => {
      const started = env.clock.monotonicMs();
      const item = { ...settlement, lane: lane.lane, fence: lane.fence };
      const written = batcher.add(item);
      // A crash between the answer and its outcome makes an unknown of a non-idempotent effect: no waiting for company.
      if (lane.kind.idempotency === 'none') void batcher.flush();
      const result = await written;
      if (result === 'ok' && settlement.mode === 'keep') lane.trustedUntil = started + env.leaseMs;
      if (result === 'fenced') {
        for (const record of recordsOf(item))
          env.emit({ type: 'lease_lost', lane: lane.lane, effectId: record.effect, late: record.outcome ?? 'nothing' });
        lane.stop.stop(new Error('the lease was lost'));
      }
      return result;
    },
    flush: () => batcher.flush(),
  };
}

async function write(env: RelayEnvironment, lanes: readonly SettleLane[]): Promise<readonly Settled[]> {
  const results = new Map<SettleLane, Settled>();
  let left = lanes;
  while (left.length > 0) {
    const answers = await writeOnce(env, left);
    const busy: SettleLane[] = [];
    const fenced: SettleLane[] = [];
    for (const lane of left) {
      const answer = answers.get(refOf(lane));
      if (answer === 'busy') busy.push(lane);
      else if (answer === 'fenced') fenced.push(lane);
      results.set(lane, answer === 'ok' ? 'ok' : answer === 'fenced' ? 'fenced' : 'error');
    }
    await keepEvidence(env, fenced);
    left = busy;
    if (left.length > 0) await env.clock.sleep(BUSY_AGAIN_MS);
  }
  const fencedCount = [...results.values()].filter((result) => result === 'fenced').length;
  env.emit({ type: 'settled', lanes: lanes.length, fenced: fencedCount });
  return lanes.map((lane) => results.get(lane) ?? 'error');
}

/** One round trip. A lost connection is tried again until it answers: the fence decides whether it was too late. One bad lane does not take the others down. */
async function writeOnce(
  env: RelayEnvironment,
  lanes: readonly SettleLane[],
): Promise<Map<string, LaneResult['result'] | 'error'>> {
  for (;;) {
    try {
      const rows = await env.engine.settle({ relay: env.id, leaseMs: env.leaseMs, lanes });
      return new Map(rows.map((row) => [refOf(row), row.result]));
    } catch (error) {
      if (env.givenUp.aborted) return new Map(lanes.map((lane) => [refOf(lane), 'error']));
      if (isRetryableDatabaseError(error) || isTimeout(error)) {
        await env.clock.sleep(DATABASE_DOWN_MS, env.givenUp);
      } else if (lanes.length === 1) {
        env.emit({
          type: 'warning',
          code: 'settle_failed',
          message: `the outcome of lane ${lanes[0]?.lane ?? '?'} could not be written; its lease will end and it will be looked at again`,
          error,
        });
        return new Map(lanes.map((lane) => [refOf(lane), 'error']));
      } else {
        const apart = new Map<string, LaneResult['result'] | 'error'>();
        for (const lane of lanes) for (const [ref, result] of await writeOnce(env, [lane])) apart.set(ref, result);
        return apart;
      }
    }
  }
}

async function keepEvidence(env: RelayEnvironment, lanes: readonly SettleLane[]): Promise<void> {
  const items = lanes.flatMap((lane) => recordsOf(lane).map((record) => ({ ...record, fence: lane.fence })));
  const said = items.filter((item) => item.outcome !== undefined);
  if (said.length === 0) return;
  try {
    await env.engine.lateEvidence({ relay: env.id, items: said });
  } catch (error) {
    env.emit({
      type: 'warning',
      code: 'late_evidence_lost',
      message: 'what a late attempt learned could not be kept',
      error,
    });
  }
}

function recordsOf(lane: Settlement): readonly AttemptRecord[] {
  return [...(lane.ended ?? []), ...(lane.head === undefined ? [] : [lane.head])];
}

function refOf(lane: { readonly lane: string; readonly fence: string }): string {
  return `${lane.fence} ${lane.lane}`;
}

/** statement_timeout and friends, also when the role has them: the statement did nothing. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && (error.code === '57014' || error.code === '25P03')
  );
}
