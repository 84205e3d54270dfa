import { canTransition, EFFECT_TRANSITIONS, type EffectState } from '../../src/kernel/states.js';
import type { Seen, World } from './database.js';
import { type Model, stateOf } from './model.js';

/** Checked after every command: what must hold at all times, whatever was done before. */
export async function check(w: World, m: Model, before: Map<number, string>): Promise<void> {
  const seen = await w.look();
  if (seen.holes.length > 0) throw new Error(`unattended: ${seen.holes.join(', ')}`);
  if (seen.effects.length !== m.effects.size)
    throw new Error(`${seen.effects.length} effects, expected ${m.effects.size}`);
  places(m, seen);
  for (const x of seen.effects) {
    const e = m.effects.get(x.id);
    if (e === undefined) throw new Error(`effect ${x.id} was never decided`);
    const state = stateOf(m, e);
    if (x.state !== state) throw new Error(`effect ${x.id} (${e.kind.kind}) is ${x.state}, expected ${state}`);
    const one = x.waiting > 0 ? 'waiting' : x.arrived !== null ? 'arrived' : x.queued !== null ? 'queued' : 'ended';
    if (x.places > 1 || one !== e.place)
      throw new Error(`effect ${x.id} is ${one} in ${x.places} places, expected ${e.place}`);
    const from = (before.get(x.id) ?? x.state) as EffectState;
    const to = x.state as EffectState;
    // Claimed and not sent is pending in the words of the table: its owner may cancel it.
    if (from !== to && !canTransition(EFFECT_TRANSITIONS, from, to) && !(from === 'sending' && to === 'cancelled'))
      throw new Error(`effect ${x.id} went from ${from} to ${to}`);
    before.set(x.id, to);
    const asked = seen.answers.some((a) => a.effect === x.id && a.action === 'cancel' && a.answer === null);
    if (e.cancelAsked && !asked && e.end === undefined)
      throw new Error(`the cancel of effect ${x.id} was answered before its time`);
    e.cancelAsked = asked;
  }
  lanes(m, seen);
}

/** Positions: drawn once, behind everything that was in the lane before. */
function places(m: Model, seen: Seen): void {
  const fresh = seen.effects
    .filter((x) => m.effects.get(x.id)?.pos === 0 && (x.arrived ?? x.queued) !== null)
    .map((x) => ({ id: x.id, pos: Number(x.arrived ?? x.queued) }))
    .sort((a, b) => a.pos - b.pos);
  for (const { id, pos } of fresh) {
    const e = m.effects.get(id);
    if (e === undefined) continue;
    const ahead = [...m.effects.values()].find((o) => o.lane === e.lane && o.pos >= pos);
    if (ahead !== undefined) throw new Error(`effect ${id} has its place before ${ahead.id}, which was there first`);
    e.pos = pos;
  }
}

function lanes(m: Model, seen: Seen): void {
  for (const x of seen.lanes) {
    const lane = m.lanes.get(x.lane);
    if (lane === undefined) throw new Error(`lane ${x.lane} should be gone`);
    const known = m.fences.get(x.lane) ?? 0;
    if (x.fence < known) throw new Error(`the fence of lane ${x.lane} went from ${known} to ${x.fence}`);
    m.fences.set(x.lane, x.fence);
    lane.fence = x.fence;
    const shown = { owner: x.owner, parked: x.parked, trouble: x.trouble };
    const expected = { owner: lane.holder?.relay ?? null, parked: lane.parked ?? null, trouble: lane.trouble ?? null };
    if (JSON.stringify(shown) !== JSON.stringify(expected))
      throw new Error(`lane ${x.lane} is ${JSON.stringify(shown)}, expected ${JSON.stringify(expected)}`);
  }
  for (const name of m.lanes.keys())
    if (!seen.lanes.some((x) => x.lane === name)) throw new Error(`lane ${name} is gone`);
}
