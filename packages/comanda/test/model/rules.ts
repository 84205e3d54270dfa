import { type Effect, isOff, kindIsOff, type Lane, type Model } from './model.js';
import type { SettleMode } from './relay.js';
import { type Kind, LEASE } from './terms.js';

/** What the contract lets happen, and what it means. No SQL: promises only. */

/** The effect has ended. `cancelled` says that it never happened, `completed` that it did. */
export function end(m: Model, e: Effect, state: 'completed' | 'failed' | 'cancelled', maybe = false): void {
  if (state === 'completed' && e.applied.length === 0)
    throw new Error(`effect ${e.id} is completed and never happened`);
  // A kind without a key has its start rows: without one nothing was sent, whoever held the lane.
  const may = e.kind.idempotency === 'none' ? m.wires.some((w) => w.effect === e && !w.resolved) : e.doubt;
  if (state === 'cancelled' && (e.applied.length > 0 || may))
    throw new Error(`effect ${e.id} is cancelled and ${may ? 'may have happened' : 'happened'}`);
  e.end = { state, maybe };
}

/** It leaves its lane; a lane without effects is gone. */
export function leave(m: Model, e: Effect): void {
  e.place = 'ended';
  const lane = m.lanes.get(e.lane);
  if (lane === undefined) return;
  lane.queue = lane.queue.filter((other) => other !== e);
  lane.holder?.inflight.delete(e);
  if (lane.queue.length === 0) m.lanes.delete(e.lane);
}

/** What a holder that is gone had in its hands may have been sent. */
function doubtAll(lane: Lane): void {
  for (const e of lane.holder?.inflight ?? []) e.doubt = true;
  lane.holder = undefined;
}

/** May this lane be taken now, and is it one that a closed scope puts aside instead? */
function isDue(m: Model, lane: Lane): boolean {
  return lane.parked === undefined && (lane.holder === undefined ? lane.dueAt : lane.holder.until) <= m.now;
}

export function claimability(m: Model, lane: Lane, kind: Kind): 'take' | 'park' | 'leave' {
  const head = lane.queue[0];
  if (head === undefined || head.kind !== kind || !isDue(m, lane) || m.copy === 'database') return 'leave';
  // Look-ups go on while off (DESIGN 9), but not when nobody knows what the kinds here are worth.
  if (lane.trouble === 'unknown') return kindIsOff(m, kind) && m.copy === 'timeline' ? 'leave' : 'take';
  if (kindIsOff(m, kind)) return 'leave';
  return isOff(m, `target:${kind.target}`) ? 'park' : 'take';
}

/** A relay has the lane now, with these effects in its hands. */
export function take(m: Model, lane: Lane, relay: string, fence: number, rows: readonly Effect[]): void {
  const before = m.fences.get(lane.name) ?? 0;
  if (fence <= before) throw new Error(`lane ${lane.name} was claimed under fence ${fence} after ${before}`);
  m.fences.set(lane.name, fence);
  doubtAll(lane);
  lane.fence = fence;
  lane.holder = { relay, until: m.now + LEASE, inflight: new Set(rows) };
  lane.firstAt ??= m.now;
}

/** What a settlement says about the head that the caller saw. */
export interface Said {
  readonly mode: SettleMode;
  readonly delay: number;
  readonly reason?: string;
  readonly trouble?: 'unknown' | 'failed';
  readonly head: Effect | undefined;
  readonly ended: readonly {
    readonly effect: Effect;
    readonly state: 'completed' | 'failed' | 'cancelled';
    readonly maybe: boolean;
  }[];
}

/** A settlement under the fence of the lane's holder: the effects that ended leave, the mode says what the next head is. */
export function settled(m: Model, lane: Lane, said: Said): void {
  let mode = said.mode;
  for (const { effect, state, maybe } of said.ended) {
    end(m, effect, state, maybe);
    leave(m, effect);
  }
  if (mode === 'absent' && said.head?.evidence === true) {
    end(m, said.head, 'completed');
    leave(m, said.head);
    mode = 'next';
  }
  const head = lane.queue[0];
  if (head === undefined) return;
  const fresh = said.ended.length > 0 || mode !== said.mode;
  if (mode === 'keep') {
    if (lane.holder !== undefined) lane.holder.until = m.now + LEASE;
    if (fresh) lane.trouble = undefined;
    return;
  }
  if (mode === 'next' && !fresh) doubtAll(lane);
  lane.holder = undefined;
  lane.dueAt = m.now + (mode === 'next' || mode === 'absent' ? 0 : said.delay);
  if (fresh || mode === 'absent') lane.trouble = undefined;
  if (mode === 'absent') resolveAll(m, head);
  if (mode === 'unsure' || mode === 'unknown' || said.trouble === 'unknown') head.doubt = true;
  if (mode === 'unknown') lane.trouble = 'unknown';
  if (mode === 'block') {
    lane.parked = said.reason ?? 'blocked';
    if (said.trouble !== undefined) lane.trouble = said.trouble;
    if (said.trouble === 'failed') end(m, head, 'failed', said.head?.doubt === true);
  }
}

/** Somebody who can know says that nothing of it was applied. */
export function resolveAll(m: Model, e: Effect): void {
  e.doubt = false;
  for (const wire of m.wires) {
    if (wire.effect !== e) continue;
    if (wire.fate === 'flying' && m.now < wire.until)
      throw new Error(`effect ${e.id} is believed absent while a request is under way`);
    if (wire.fate === 'accepted') throw new Error(`effect ${e.id} is believed absent and happened`);
    wire.resolved = true;
  }
}
