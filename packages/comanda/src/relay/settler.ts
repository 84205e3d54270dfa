import { createBatcher } from '../kernel/batcher.js';
import { sqlstateOf } from '../kernel/database-errors.js';
import { SETTLE_BATCH_MAX_ITEMS, SETTLE_BATCH_MAX_WAIT_MS, SETTLE_BUSY_BATCH_MAX_ITEMS } from '../kernel/limits.js';
import type { AttemptRecord, LaneResult, SettleLane } from '../outbox/engine.js';
import type { ClaimedLane } from './claimed-lane.js';
import { referenceTo } from './effect-reference.js';
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
  const batcher = createBatcher<SettleLane, LaneResult['result'] | 'error'>({
    maxItems: SETTLE_BATCH_MAX_ITEMS,
    maxBatchItems: SETTLE_BUSY_BATCH_MAX_ITEMS,
    maxWaitMs: SETTLE_BATCH_MAX_WAIT_MS,
    clock: env.clock,
    run: async (lanes) => {
      const results = await write(env, lanes);
      env.emit({
        type: 'settled',
        lanes: lanes.length,
        fenced: results.filter((result) => result === 'fenced').length,
      });
      return results;
    },
  });
  const settleItem = async (lane: ClaimedLane, item: SettleLane): Promise<Settled> => {
    for (;;) {
      const written = batcher.add(item);
      // A crash between the answer and its outcome makes an unknown of a non-idempotent effect: no waiting for company.
      if (lane.kind.idempotency === 'none') void batcher.flush();
      const result = await written;
      if (result === 'ok' || result === 'fenced') return result;
      // Somebody holds the lane's row for a moment: again, without holding up the others.
      if (result !== 'busy' || env.givenUp.aborted) return 'error';
      await env.clock.sleep(BUSY_AGAIN_MS, env.givenUp);
    }
  };
  return {
    settle: async (lane, settlement) => {
      const started = env.clock.monotonicMs();
      const item = { ...settlement, lane: lane.lane, fence: lane.fence };
      const result = await settleItem(lane, item);
      if (result === 'ok' && settlement.mode === 'keep') lane.trustedUntil = started + env.leaseMs;
      if (result === 'fenced') {
        lane.stop.stop(new Error('the lease was lost'));
        await keepEvidence(env, lane, recordsOf(item));
      }
      return result;
    },
    flush: () => batcher.flush(),
  };
}

/**
 * One round trip. The fence decides whether it was too late, so everything that is not the fault of a lane's own content is tried again until it is answered.
 * One bad lane does not take the others down; an outcome that cannot be stored as it is, is stored without what a stranger said.
 */
async function write(
  env: RelayEnvironment,
  lanes: readonly SettleLane[],
): Promise<readonly (LaneResult['result'] | 'error')[]> {
  for (let stripped = false; ; ) {
    try {
      const rows = await env.engine.settle({
        relay: env.id,
        leaseMs: env.leaseMs,
        lanes: stripped ? lanes.map(bare) : lanes,
      });
      const answers = new Map(rows.map((row) => [refOf(row), row.result]));
      return lanes.map((lane) => answers.get(refOf(lane)) ?? 'error');
    } catch (error) {
      if (env.givenUp.aborted) return lanes.map(() => 'error');
      if (!isOwnFault(error)) {
        env.emit({
          type: 'warning',
          code: 'settle_waits',
          message: 'outcomes could not be written; they are tried again',
          error,
        });
        await env.clock.sleep(DATABASE_DOWN_MS, env.givenUp);
      } else if (lanes.length > 1) {
        const apart: (LaneResult['result'] | 'error')[] = [];
        for (const lane of lanes) apart.push(...(await write(env, [lane])));
        return apart;
      } else if (stripped) {
        env.emit({
          type: 'warning',
          code: 'settle_failed',
          message: `the outcome of lane ${lanes[0]?.lane ?? '?'} could not be written; its lease will end`,
          error,
        });
        return ['error'];
      } else {
        env.emit({
          type: 'warning',
          code: 'settle_stripped',
          message: `the outcome of lane ${lanes[0]?.lane ?? '?'} is written without its texts`,
          error,
        });
        stripped = true;
      }
    }
  }
}

const EVIDENCE_TRIES = 8;

/** What an attempt learned after its lease was gone is an input to reconcile (P4). */
export async function keepEvidence(
  env: RelayEnvironment,
  lane: ClaimedLane,
  records: readonly AttemptRecord[],
): Promise<void> {
  const items = records
    .filter((record) => record.outcome !== undefined)
    .map((record) => ({ ...record, fence: lane.fence }));
  for (let left = EVIDENCE_TRIES; items.length > 0 && left > 0; left -= 1) {
    try {
      await env.engine.lateEvidence({
        relay: env.id,
        items: left === 1 ? items.map((item) => ({ ...bareRecord(item), fence: item.fence })) : items,
      });
      break;
    } catch (error) {
      env.emit({
        type: 'warning',
        code: 'late_evidence_waits',
        message: 'what a late attempt learned could not be kept yet',
        error,
      });
      await env.clock.sleep(DATABASE_DOWN_MS, env.givenUp);
    }
  }
  for (const { effect, outcome = 'nothing' } of items) {
    const claimed = lane.effects.find(({ row }) => row.effect_id === effect);
    if (claimed !== undefined) env.emit({ type: 'lease_lost', ...referenceTo(lane, claimed), late: outcome });
  }
}

function recordsOf(lane: Settlement): readonly AttemptRecord[] {
  return [...(lane.ended ?? []), ...(lane.head === undefined ? [] : [lane.head])];
}

/** A settlement without anything that somebody else wrote. */
function bare({ head, ended, ...lane }: SettleLane): SettleLane {
  const reason =
    lane.mode === 'block' ? { reason: lane.reason?.startsWith('switch:') === true ? lane.reason : UNSTORABLE } : {};
  return {
    ...lane,
    ...reason,
    ...(head === undefined ? {} : { head: bareRecord(head) }),
    ...(ended === undefined
      ? {}
      : { ended: ended.map((one) => ({ ...bareRecord(one), pos: one.pos, state: one.state, reason: UNSTORABLE })) }),
  };
}

const UNSTORABLE = 'what was said about it could not be stored';

function bareRecord({ effect, attempt, outcome }: AttemptRecord): AttemptRecord {
  return { effect, attempt, ...(outcome === undefined ? {} : { outcome }) };
}

/** Data exceptions, integrity violations and our own refusals are about what was sent. Everything else is about the database at this moment. */
function isOwnFault(error: unknown): boolean {
  return /^(22|23|CM)/.test(sqlstateOf(error) ?? '');
}

function refOf(lane: { readonly lane: string; readonly fence: string }): string {
  return `${lane.fence} ${lane.lane}`;
}
