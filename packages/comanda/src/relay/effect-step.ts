import { formatDuration } from '../kernel/durations.js';
import { WORKER_LOST_MAX } from '../kernel/limits.js';
import type { AttemptRecord, EndedRecord } from '../outbox/engine.js';
import type { Idempotency } from '../ports/effect-kind.js';
import type { Evidence, Outcome } from '../ports/outcome.js';
import { type ClaimedEffect, type ClaimedLane, isKeyed } from './claimed-lane.js';
import { inputOf } from './context.js';
import { dispatch } from './dispatch.js';
import { errorOf, referenceTo } from './effect-reference.js';
import { type RelayEnvironment, sendMarginMs } from './environment.js';
import { reasonOf, storable, thrownEvidence } from './evidence.js';
import { keyWindowMs } from './key-window.js';
import { settlementOf, unknownHead } from './outcome-settlement.js';
import type { SendGate } from './send-gate.js';
import type { Settlement } from './settler.js';
import type { Targets } from './targets.js';
import { happenedLate, judge } from './uncertain.js';

/** What one effect needs from its relay. */
export interface EffectServices {
  readonly env: RelayEnvironment;
  readonly gate: SendGate;
  /** Whether no new effect may be started: the relay stops. */
  readonly stopping: () => boolean;
  readonly targets: Pick<Targets, 'enter' | 'asked' | 'leave' | 'observe' | 'closed'>;
  /** Keeps what a handler said after it had been left behind. */
  readonly late: (lane: ClaimedLane, record: AttemptRecord) => void;
}

/** What became of one effect: it ended, the lane stops at it, or the lease is gone. */
export type Step =
  | {
      readonly next: 'ended';
      readonly record: EndedRecord;
      /** It was sent to a target that does not know it again: written before anything else is done. */
      readonly atOnce?: boolean;
    }
  | { readonly next: 'stop'; readonly settlement: Settlement }
  | { readonly next: 'gone' };

/** A relay of an older deployment looks again so often; a newer one takes the effect meanwhile. */
const NEWER_KIND_MS = 2_000;
/** A process whose floor forbids an effect looks again so often: another process may differ. */
const FLOOR_MS = 5_000;
const NOT_ASKED_MS = 100;
const VALIDATE_AGAIN_MS = 5_000;
const KEY_FORGOTTEN = 'it may have happened, the target may have forgotten its key,';

/** Takes one effect from its claim to an outcome: judged when its past is uncertain, validated, asked for, executed. */
export async function runEffect(services: EffectServices, lane: ClaimedLane, effect: ClaimedEffect): Promise<Step> {
  const { env } = services;
  const { row } = effect;
  const release: Settlement = { mode: 'retry', delayMs: 0, giveBack: row.trouble !== 'unknown' };
  if (services.stopping() || lane.stop.reason !== undefined) return stop(release);
  if (effect.payload.kind_version > lane.kind.version) {
    env.emit({
      type: 'warning',
      code: 'newer_kind',
      message: `${row.kind} version ${effect.payload.kind_version} waits for a newer relay; this one knows version ${lane.kind.version}`,
    });
    return stop({ ...release, delayMs: NEWER_KIND_MS });
  }
  const known = happenedLate(effect);
  if (known !== undefined) return ended(known);
  const quarantined = quarantine(env, lane, effect);
  if (quarantined !== undefined) return quarantined;

  let suspect = row.suspect || row.trouble === 'unknown';
  if (suspect) {
    const verdict = await judge(services, lane, effect);
    if (verdict.act === 'settle') return stop(verdict.settlement);
    if (verdict.act === 'ended') return ending(lane, verdict.record);
    suspect = verdict.suspect;
  }
  const problems = await validate(env, lane, effect);
  if (problems === undefined) return stop({ ...release, giveBack: false, delayMs: VALIDATE_AGAIN_MS, keepLost: true });
  if (problems.length > 0) return unfit(lane, effect, problems, suspect);

  const elsewhere = await services.targets.enter(lane);
  if (elsewhere !== undefined) return stop({ ...release, ...elsewhere });
  try {
    return await send(services, lane, effect, suspect, release);
  } finally {
    services.targets.leave(lane);
  }
}

/** Its turn at the target has come: asks the database once more, and executes. */
async function send(
  services: EffectServices,
  lane: ClaimedLane,
  effect: ClaimedEffect,
  suspect: boolean,
  release: Settlement,
): Promise<Step> {
  const answer = await ask(services, lane, effect, suspect);
  services.targets.asked(lane);
  if (typeof answer !== 'string') {
    // The start row may have been written although its answer was lost; nothing was sent: the end row says so.
    const head = {
      ...base(effect),
      outcome: 'retry',
      ...thrownEvidence(answer.error),
      errorClass: 'not_asked',
    } as const;
    // Nor did a process die: what the question may have counted is taken back.
    return stop({ ...release, delayMs: NOT_ASKED_MS, keepLost: true, lost: effect.row.lost, head });
  }
  if (answer === 'go') return await execute(services, lane, effect, suspect, lane.kind.idempotency);
  // The key may be forgotten by now: as a kind without one.
  if (answer === 'go:none') return await execute(services, lane, effect, suspect, 'none');
  if (answer === 'forgotten') {
    const delayMs = services.env.leaseMs + lane.kind.timeoutMs;
    return stop({ ...unknownHead(lane, delayMs, KEY_FORGOTTEN), giveBack: release.giveBack === true });
  }
  if (answer === 'lost') return { next: 'gone' };
  if (answer === 'cancel') return ended({ ...base(effect), state: 'cancelled', reason: 'cancelled on request' });
  if (answer === 'stale')
    return ended({ ...base(effect), state: 'cancelled', reason: 'stale: a newer version of its subject was decided' });
  if (answer === 'expired')
    return ended({
      ...base(effect),
      state: 'cancelled',
      reason: `too old: it was not sent within ${formatDuration(lane.kind.maxAgeMs ?? 0)}`,
    });
  if (answer === 'applied') return ended({ ...base(effect), state: 'completed', reason: 'late evidence' });
  if (answer.startsWith('wait:'))
    return stop({ ...release, delayMs: services.targets.closed(lane, Number(answer.slice(5))) });
  // A scope of the database's switch parks the lane until it is on again; the floor of this process only releases it.
  if (answer.startsWith('off:floor:')) return stop({ ...release, delayMs: FLOOR_MS });
  if (answer.startsWith('off:')) {
    return stop({ mode: 'block', reason: `switch:${answer.slice(4)}`, giveBack: release.giveBack === true });
  }
  return stop(release);
}

async function execute(
  services: EffectServices,
  lane: ClaimedLane,
  effect: ClaimedEffect,
  suspect: boolean,
  idempotency: Idempotency,
): Promise<Step> {
  const { env } = services;
  const started = env.clock.monotonicMs();
  const recordOf = <Outcome extends string>(outcome: Evidence & { readonly outcome: Outcome }) => {
    const ms = Math.round(env.clock.monotonicMs() - started);
    return { ...base(effect), ...storable(lane.kind, effect.payload.payload, outcome), ms, outcome: outcome.outcome };
  };
  const outcome = await dispatch(env, lane, effect, idempotency, (late) =>
    services.late(lane, recordOf(believed(late, idempotency))),
  );
  const record = recordOf(outcome);
  env.emit({
    type: 'attempt',
    ...referenceTo(lane, effect),
    outcome: record.outcome,
    ms: record.ms,
    ...errorOf(record),
  });
  services.targets.observe(lane, outcome);
  if (outcome.outcome === 'completed')
    return { ...ended({ ...record, state: 'completed' }), atOnce: idempotency === 'none' };
  // Refused now is no proof about an earlier attempt that was uncertain: what was deleted then is not found now.
  if (outcome.outcome === 'failed' && suspect && idempotency === 'natural') {
    const head = { ...record, outcome: 'unknown' as const };
    return stop({ ...unknownHead(lane, 0, 'an earlier try may have been applied, this one was refused,'), head });
  }
  if (outcome.outcome === 'failed')
    return ending(lane, { ...record, state: 'failed', reason: reasonOf(record), maybe: suspect });
  const decision = settlementOf(env, lane, effect, outcome, record, { idempotency, stopping: services.stopping() });
  return 'ended' in decision ? ending(lane, decision.ended) : stop(decision.settlement);
}

/** A word about an attempt that may have left is no proof that it did not. */
function believed(outcome: Outcome, idempotency: Idempotency): Outcome {
  const { outcome: said, ...evidence } = outcome;
  return said === 'retry' && outcome.notSent !== true && idempotency === 'none'
    ? { ...evidence, outcome: 'unknown' }
    : outcome;
}

/** Three processes died while they executed it, or looked it up: it is not started a fourth time. Nor is one that uses up its attempts with deaths before anything is sent. */
function quarantine({ leaseMs }: RelayEnvironment, lane: ClaimedLane, effect: ClaimedEffect): Step | undefined {
  const { row } = effect;
  if (row.lost < WORKER_LOST_MAX) {
    if (row.lost === 0 || row.attempt <= lane.kind.maxAttempts || mayHaveLeft(lane, effect)) return undefined;
    // No start row says that nothing was sent: it may have happened, as when the last attempt had ended without an answer.
    if (row.suspect && lane.kind.idempotency !== 'none') {
      const how = `${row.attempt - 1} attempts ended without a word, or with their process; it may have happened`;
      return stop({
        ...unknownHead(lane, leaseMs + lane.kind.timeoutMs, how),
        head: { ...base(effect), outcome: 'unknown', errorClass: 'worker_lost' },
      });
    }
    return workerLost(lane, effect, `${row.attempt - 1} processes died before they executed it`);
  }
  if (row.trouble === 'unknown') {
    return stop({
      mode: 'block',
      trouble: 'unknown',
      reason: `unknown: ${row.lost} processes died while they looked it up`,
    });
  }
  if (lane.kind.idempotency === 'none') return undefined;
  return workerLost(lane, effect, `${row.lost} processes died while they executed it`);
}

function workerLost(lane: ClaimedLane, effect: ClaimedEffect, how: string): Step {
  return ending(lane, {
    ...base(effect),
    state: 'failed',
    outcome: 'failed',
    errorClass: 'worker_lost',
    maybe: lane.kind.idempotency !== 'none',
    reason: `worker lost: ${how}`,
  });
}

function mayHaveLeft({ kind }: ClaimedLane, { row, payload }: ClaimedEffect): boolean {
  return row.trouble === 'unknown' || (kind.idempotency === 'none' && payload.started_ms_ago !== null);
}

/** Not sent now. When it may have been sent before, only a person can tell what that means. */
function unfit(lane: ClaimedLane, effect: ClaimedEffect, problems: readonly string[], suspect: boolean): Step {
  const text = { errorClass: 'validation', errorText: problems.join('; ') };
  const record = { ...base(effect), ...storable(lane.kind, effect.payload.payload, text) };
  if (suspect) {
    return stop({
      mode: 'block',
      trouble: 'unknown',
      reason: 'unknown: it may have been sent by an earlier relay, and the payload does not fit the kind',
      head: { ...record, outcome: 'unknown' },
    });
  }
  return ending(lane, {
    ...record,
    state: 'failed',
    outcome: 'failed',
    reason: 'validation: the payload does not fit the kind; nothing was sent',
  });
}

async function ask(
  { env, gate }: EffectServices,
  lane: ClaimedLane,
  effect: ClaimedEffect,
  suspect: boolean,
): Promise<string | { readonly error: unknown }> {
  const { row } = effect;
  const { idempotency, stale, maxAgeMs } = lane.kind;
  const windowMs = keyWindowMs(lane.kind);
  try {
    return await gate({
      lane: lane.lane,
      fence: lane.fence,
      effect: row.effect_id,
      attempt: row.attempt,
      suspect,
      lost: row.lost,
      mark: idempotency === 'none',
      needMs: sendMarginMs(env.leaseMs),
      ...(windowMs === undefined ? {} : { windowMs }),
      ...(stale === 'skip' ? { skipStale: true } : {}),
      ...(maxAgeMs === undefined ? {} : { maxAgeMs }),
    });
  } catch (error) {
    return { error };
  }
}

/** A failed head blocks its keyed lane, visibly; an unkeyed one leaves the hot tables as a dead letter. */
function ending(lane: ClaimedLane, record: EndedRecord): Step {
  if (record.state !== 'failed' || !isKeyed(lane)) return ended(record);
  const { pos: _pos, state: _state, reason = 'dead letter', maybe = false, ...head } = record;
  return stop({ mode: 'block', trouble: 'failed', headFailed: true, maybe, reason: `failed: ${reason}`, head });
}

/** What is wrong with the payload; `undefined` when the check did not end in time: it is somebody else's code, and can wait for something. */
async function validate(
  { clock }: RelayEnvironment,
  lane: ClaimedLane,
  effect: ClaimedEffect,
): Promise<readonly string[] | undefined> {
  const { kind, stop } = lane;
  if (kind.validate === undefined) return [];
  let giveUp = (): void => undefined;
  const late = new Promise<undefined>((resolve) => {
    giveUp = () => resolve(undefined);
  });
  const timer = clock.after(kind.timeoutMs, giveUp);
  stop.add(giveUp);
  try {
    return await Promise.race([kind.validate(inputOf(effect)), late]);
  } catch (error) {
    return [`the schema could not be applied: ${thrownEvidence(error).errorText}`];
  } finally {
    timer.cancel();
    stop.remove(giveUp);
  }
}

function base(effect: ClaimedEffect): { readonly effect: string; readonly attempt: number; readonly pos: string } {
  return { effect: effect.row.effect_id, attempt: effect.row.attempt, pos: String(effect.row.pos) };
}

function ended(record: EndedRecord): Extract<Step, { next: 'ended' }> {
  return { next: 'ended', record };
}

function stop(settlement: Settlement): Step {
  return { next: 'stop', settlement };
}
