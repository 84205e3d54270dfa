import { retryDelayMs } from '../kernel/backoff.js';
import { BACKOFF_BASE_MS, BACKOFF_MAX_MS } from '../kernel/limits.js';
import type { EndedRecord } from '../outbox/engine.js';
import type { ReconcileResult } from '../ports/outcome.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import { errorOf, referenceTo } from './effect-reference.js';
import type { RelayEnvironment } from './environment.js';
import { storable } from './evidence.js';
import { isLookedUp, lookUp } from './reconcile-effect.js';
import type { Settlement } from './settler.js';
import type { Targets } from './targets.js';

/** Look-ups that could not tell, after which a person is asked. */
const LOOKS_MAX = 12;
/** Beyond lease end + timeout: the moments of two clocks are compared. */
const LATE_MS = 50;

/** What to do with a head whose past is uncertain: send it, settle it so, or take it as ended. */
export type Verdict =
  | { readonly act: 'send'; readonly suspect: boolean }
  | { readonly act: 'settle'; readonly settlement: Settlement }
  | { readonly act: 'ended'; readonly record: EndedRecord };

/** What a look-up needs from its relay. */
export interface Looking {
  readonly env: RelayEnvironment;
  readonly targets: Pick<Targets, 'enter' | 'asked' | 'leave'>;
}

/** A late answer said that it happened: that is the truth, whatever the kind, and however many processes were lost over it. */
export function happenedLate({ row, payload }: ClaimedEffect): EndedRecord | undefined {
  if (payload.evidence !== 'completed') return undefined;
  const provider = providerId(payload.evidence_provider_id);
  return {
    effect: row.effect_id,
    attempt: row.attempt,
    pos: String(row.pos),
    state: 'completed',
    reason: 'late evidence',
    ...provider,
  };
}

/**
 * Judges a suspect: an effect that an earlier holder of the lane may have sent.
 *
 * - `key`: sent again with the same key; the target recognises it. A start row says that it was sent without its key: by a deployment in which the
 *   kind had none, or after the key was forgotten. Then as `none`.
 * - `natural`: sent again only after lease end + timeout, so that no earlier request is still under way (relay-model R4).
 * - `none`: a start row says whether it was sent. Never sent: clean. Sent: unknown, looked up after lease end + timeout, or put before a person.
 */
export async function judge({ env, targets }: Looking, lane: ClaimedLane, effect: ClaimedEffect): Promise<Verdict> {
  const { row, payload } = effect;
  const { kind } = lane;
  const giveBack = row.trouble !== 'unknown';
  // An attempt that was exhausted after a possible send is looked up too, whatever the kind.
  if (kind.idempotency === 'key' && row.trouble !== 'unknown' && payload.started_ms_ago === null)
    return { act: 'send', suspect: true };
  if (kind.idempotency === 'none' && payload.started_ms_ago === null && row.trouble !== 'unknown')
    return { act: 'send', suspect: false };
  // The lease of a dead holder has ended just now; what left under it can take the timeout to arrive. `looks` says that this has been waited for.
  if (row.lost > 0 && row.looks === 0) {
    const mode = kind.idempotency === 'natural' && row.trouble !== 'unknown' ? 'unsure' : 'unknown';
    return settle({ mode, delayMs: kind.timeoutMs + LATE_MS, giveBack, keepLost: true, looked: true });
  }
  if (kind.idempotency === 'natural' && row.trouble !== 'unknown') return { act: 'send', suspect: true };
  if (!isLookedUp(kind)) {
    return settle({
      mode: 'block',
      trouble: 'unknown',
      giveBack,
      reason: 'unknown: it may have happened and only a person can tell',
    });
  }
  // A look-up is a request to the target like any other: its limits hold.
  const elsewhere = await targets.enter(lane);
  if (elsewhere !== undefined) return settle({ mode: 'unknown', giveBack, keepLost: true, ...elsewhere });
  targets.asked(lane);
  lane.looking = true;
  try {
    return await ask(env, lane, effect);
  } finally {
    lane.looking = false;
    targets.leave(lane);
  }
}

async function ask(env: RelayEnvironment, lane: ClaimedLane, effect: ClaimedEffect): Promise<Verdict> {
  const { row, payload } = effect;
  // This claim does not send: its attempt is given back, unless it was not counted in the first place.
  const giveBack = row.trouble !== 'unknown';
  const started = env.clock.monotonicMs();
  const result = await lookUp(env, lane, effect);
  const evidence = storable(lane.kind, payload.payload, result);
  const ms = Math.round(env.clock.monotonicMs() - started);
  env.emit({
    type: 'attempt',
    ...referenceTo(lane, effect),
    outcome: `look:${result.found}`,
    ms,
    ...errorOf(evidence),
  });
  const record = { ...head(effect), ...evidence, ms, outcome: lookOutcome(result) };
  if (result.found === 'applied')
    return {
      act: 'ended',
      record: { ...record, pos: String(row.pos), state: 'completed', reason: 'reconciled: applied' },
    };
  if (result.found === 'absent' && row.attempt >= lane.kind.maxAttempts) {
    return {
      act: 'ended',
      record: {
        ...record,
        pos: String(row.pos),
        state: 'failed',
        reason: `attempts exhausted (${row.attempt}); the look-up says that it was not applied`,
      },
    };
  }
  if (result.found === 'absent') return settle({ mode: 'absent', head: record });
  if (row.looks + 1 >= LOOKS_MAX) {
    return settle({
      mode: 'block',
      trouble: 'unknown',
      reason: `unknown: ${row.looks + 1} look-ups could not tell`,
      looked: true,
      giveBack,
      head: record,
    });
  }
  const delayMs = retryDelayMs(row.looks + 1, { baseMs: BACKOFF_BASE_MS, maxMs: BACKOFF_MAX_MS }, env.random());
  return settle({ mode: 'unknown', delayMs, looked: true, giveBack, head: record });
}

function lookOutcome(result: ReconcileResult): 'applied' | 'absent' | 'cannot_tell' {
  return result.found === 'cannotTell' ? 'cannot_tell' : result.found;
}

function head(effect: ClaimedEffect): { readonly effect: string; readonly attempt: number } {
  return { effect: effect.row.effect_id, attempt: effect.row.attempt };
}

function providerId(id: string | null): { readonly providerId?: string } {
  return id === null ? {} : { providerId: id };
}

function settle(settlement: Settlement): Verdict {
  return { act: 'settle', settlement };
}
