import { WORKER_LOST_MAX } from '../kernel/limits.js';
import type { EndedRecord } from '../outbox/engine.js';
import { type ClaimedEffect, type ClaimedLane, isKeyed } from './claimed-lane.js';
import { inputOf } from './context.js';
import { dispatch } from './dispatch.js';
import { type RelayEnvironment, sendMarginMs } from './environment.js';
import { storable, thrownEvidence } from './evidence.js';
import { settlementOf } from './outcome-settlement.js';
import type { SendGate } from './send-gate.js';
import type { Settlement, Settler } from './settler.js';
import { judge } from './uncertain.js';

/** What a lane needs from its relay while it runs. */
export interface LaneServices {
  readonly env: RelayEnvironment;
  readonly gate: SendGate;
  readonly settler: Settler;
  /** At most one suspect of a dead process executes at a time here: the one that kills is then alone (redteam 1.7). */
  readonly alone: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Whether no new effect may be started: the relay stops. */
  readonly stopping: () => boolean;
  /** Leaves a target alone for a while in this relay: the provider asked for it. */
  readonly pauseTarget: (target: string, ms: number) => void;
}

/** Successes are written together at the end of the claimed prefix, or when the first of them has waited so long. */
const HOLD_SUCCESSES_MS = 100;

/**
 * Runs what was claimed of one lane: the head's prefix, one after the other, each judged, asked for, executed; stops at the first that does not succeed.
 * Resolves when everything is settled, or the lease is lost. Never rejects.
 */
export async function runLane(services: LaneServices, lane: ClaimedLane): Promise<void> {
  const { env, settler } = services;
  const done: EndedRecord[] = [];
  let heldSince = 0;
  const settle = async (settlement: Settlement): Promise<boolean> => {
    const ended = [...done.splice(0), ...(settlement.ended ?? [])];
    return (await settler.settle(lane, { ...settlement, ...(ended.length === 0 ? {} : { ended }) })) === 'ok';
  };
  try {
    for (const [index, effect] of lane.effects.entries()) {
      const last = index === lane.effects.length - 1;
      const step =
        effect.row.lost > 0
          ? await services.alone(() => runEffect(services, lane, effect))
          : await runEffect(services, lane, effect);
      if (step.next === 'gone') return;
      if (step.next === 'stop') return void (await settle(step.settlement));
      if (done.length === 0) heldSince = env.clock.monotonicMs();
      done.push(step.record);
      // An end without a send is written before anything behind it is sent: after a crash it would be sent after its followers (chaos R7).
      const mustKeep = step.record.state !== 'completed' || env.clock.monotonicMs() - heldSince > HOLD_SUCCESSES_MS;
      if (!last && mustKeep && !(await settle({ mode: 'keep' }))) return;
    }
    await settle({ mode: 'next' });
  } catch (error) {
    env.emit({ type: 'warning', code: 'lane_failed', message: `lane ${lane.lane} was left to its lease`, error });
  }
}

type Step =
  | { readonly next: 'ended'; readonly record: EndedRecord }
  | { readonly next: 'stop'; readonly settlement: Settlement }
  | { readonly next: 'gone' };

async function runEffect(services: LaneServices, lane: ClaimedLane, effect: ClaimedEffect): Promise<Step> {
  const { env } = services;
  const { row } = effect;
  const release: Settlement = { mode: 'retry', delayMs: 0, giveBack: row.trouble !== 'unknown' };
  if (services.stopping() || lane.stop.reason !== undefined) return stop(release);

  if (row.lost >= WORKER_LOST_MAX && lane.kind.idempotency !== 'none') {
    return ending(lane, {
      ...base(effect),
      state: 'failed',
      outcome: 'failed',
      errorClass: 'worker_lost',
      maybe: true,
      reason: `worker lost: ${row.lost} processes died while they executed it`,
    });
  }
  let suspect = row.suspect || row.trouble === 'unknown';
  if (suspect) {
    const verdict = await judge(env, lane, effect);
    if (verdict.act === 'settle') return stop(verdict.settlement);
    if (verdict.act === 'ended') return ending(lane, verdict.record);
    suspect = verdict.suspect;
  } else {
    const problems = await validate(lane, effect);
    if (problems.length > 0) {
      return ending(lane, {
        ...base(effect),
        state: 'failed',
        outcome: 'failed',
        errorClass: 'validation',
        errorText: problems.join('; ').slice(0, 4_000),
        reason: 'validation: the payload does not fit the kind; nothing was sent',
      });
    }
  }
  const answer = await services
    .gate({
      lane: lane.lane,
      fence: lane.fence,
      effect: row.effect_id,
      attempt: row.attempt,
      suspect,
      lost: row.lost,
      mark: lane.kind.idempotency === 'none',
      needMs: sendMarginMs(env.leaseMs),
    })
    .catch((error: unknown) => ({ error }));
  if (typeof answer !== 'string') {
    // The start row may have been written although its answer was lost; nothing was sent: the end row says so.
    return stop({
      ...release,
      delayMs: 100,
      head: { ...base(effect), outcome: 'retry', ...thrownEvidence(answer.error), errorClass: 'not_asked' },
    });
  }
  if (answer === 'lost') return { next: 'gone' };
  if (answer === 'cancel')
    return { next: 'ended', record: { ...base(effect), state: 'cancelled', reason: 'cancelled on request' } };
  if (answer === 'applied')
    return { next: 'ended', record: { ...base(effect), state: 'completed', reason: 'late evidence' } };
  if (answer.startsWith('off:')) return stop(switchedOff(answer.slice(4), release));
  if (answer !== 'go') return stop(release);

  const started = env.clock.monotonicMs();
  const outcome = await dispatch(env, lane, effect);
  const ms = Math.round(env.clock.monotonicMs() - started);
  env.emit({
    type: 'attempt',
    effectId: row.effect_id,
    kind: row.kind,
    attempt: row.attempt,
    outcome: outcome.outcome,
    ms,
  });
  if (outcome.outcome === 'retry' && outcome.pausesTarget === true)
    services.pauseTarget(row.target, outcome.afterMs ?? lane.kind.backoffBaseMs);
  const evidence = storable(lane.kind, effect.payload.payload, outcome);
  const record = { ...base(effect), ...evidence, ms, outcome: outcome.outcome };
  if (outcome.outcome === 'completed') return { next: 'ended', record: { ...record, state: 'completed' } };
  if (outcome.outcome === 'failed') return ending(lane, { ...record, state: 'failed', reason: reasonOf(evidence) });
  const decision = settlementOf(env, lane, effect, outcome, record, services.stopping());
  return 'ended' in decision ? ending(lane, decision.ended) : stop(decision.settlement);
}

/** A failed head blocks its keyed lane, visibly; an unkeyed one leaves the hot tables as a dead letter. */
function ending(lane: ClaimedLane, record: EndedRecord): Step {
  if (record.state !== 'failed' || !isKeyed(lane)) return { next: 'ended', record };
  const { pos: _pos, state: _state, reason, maybe: _maybe, ...head } = record;
  return stop({
    mode: 'block',
    trouble: 'failed',
    headFailed: true,
    reason: `failed: ${reason ?? 'dead letter'}`,
    head,
  });
}

/** A scope of the database's switch parks the lane until it is on again; the floor of this process only releases it, as another relay may differ. */
function switchedOff(scope: string, release: Settlement): Settlement {
  return scope.startsWith('floor:')
    ? { ...release, delayMs: 5_000 }
    : { mode: 'block', reason: `switch:${scope}`, giveBack: release.giveBack ?? true };
}

async function validate(lane: ClaimedLane, effect: ClaimedEffect): Promise<readonly string[]> {
  if (lane.kind.validate === undefined) return [];
  try {
    return await lane.kind.validate(inputOf(effect));
  } catch (error) {
    return [`the schema could not be applied: ${thrownEvidence(error).errorText}`];
  }
}

function base(effect: ClaimedEffect): { readonly effect: string; readonly attempt: number; readonly pos: string } {
  return { effect: effect.row.effect_id, attempt: effect.row.attempt, pos: String(effect.row.pos) };
}

function reasonOf(evidence: { readonly errorClass?: string; readonly errorText?: string }): string {
  return (
    [evidence.errorClass, evidence.errorText]
      .filter((text) => text !== undefined)
      .join(': ')
      .slice(0, 1_000) || 'failed'
  );
}

function stop(settlement: Settlement): Step {
  return { next: 'stop', settlement };
}
