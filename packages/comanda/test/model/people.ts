import { given } from '../sql/kit/steps.js';
import type { Seen, World } from './database.js';
import { type Asked, type Effect, flying, isOff, type Model } from './model.js';
import { end, leave, resolveAll } from './rules.js';
import type { Mode, Scope } from './terms.js';

/** What callers and people do: cancel, ask for acts, turn switches, adopt; and the sweep that carries their acts out. */

export async function cancel(w: World, m: Model, e: Effect): Promise<void> {
  const [said] = await w.s.call<{ answer: string }>('cancel', { key: e.run, name: e.name, by: 'ada' });
  const expected =
    e.place === 'waiting' || e.end?.state === 'cancelled'
      ? 'cancelled'
      : e.end === undefined
        ? 'requested'
        : 'too late';
  if (said?.answer !== expected) throw new Error(`cancel of ${e.id} said ${said?.answer}, expected ${expected}`);
  if (e.place === 'waiting') {
    end(m, e, 'cancelled');
    leave(m, e);
  } else if (expected === 'requested') e.cancelAsked = true;
}

/** A person looks at the provider's book before they resolve, and waits until nothing can be under way. */
function verdict(m: Model, e: Effect, wish: number): Asked['as'] {
  if (flying(m, e).length > 0) return undefined;
  return e.applied.length > 0 ? 'completed' : wish % 2 === 0 ? 'pending' : 'failed';
}

export async function ask(w: World, m: Model, e: Effect, action: Asked['action'], wish: number): Promise<boolean> {
  const as = action === 'resolve' ? verdict(m, e, wish) : undefined;
  if (
    action === 'resolve' &&
    (as === undefined || m.lanes.get(e.lane)?.trouble !== 'unknown' || m.lanes.get(e.lane)?.queue[0] !== e)
  )
    return false;
  const [said] = await w.s.call<{ request_id: number; answer: string }>('request', {
    effect: e.id,
    action,
    by: 'ada',
    reason: 'model',
    ...(as === undefined ? {} : { as }),
  });
  const id = given(said).request_id;
  if (!m.asked.some((a) => a.id === id)) m.asked.push({ id, effect: e, action, as });
  return true;
}

export async function turn(w: World, m: Model, scope: Scope, mode: Mode): Promise<void> {
  await w.s.call('switch_set', { scope, mode, by: 'ada', reason: 'model' });
  m.switches.set(scope, { mode, since: m.step });
}

/** The database becomes one that nobody adopted: a copy, or the same server after a failover. */
export async function copy(w: World, m: Model, what: 'database' | 'timeline'): Promise<void> {
  await w.s.rows(
    what === 'database'
      ? 'update comanda.installation set database_oid = 1'
      : 'update comanda.installation set timeline = timeline + 1000',
  );
  m.copy = what === 'database' || m.copy === 'database' ? 'database' : 'timeline';
}

export async function adopt(w: World, m: Model): Promise<void> {
  await w.s.call('adopt', { by: 'ada', reason: 'model', acceptTimeline: true });
  m.copy = 'none';
}

/** One pass of housekeeping: what is due moves, lanes whose reason is gone are unparked, people get answers. Each answer must be one that the contract allows. */
export async function sweep(w: World, m: Model): Promise<void> {
  const [done] = await w.s.call<{ failed: string | null }>('sweep', { relay: 'r1' });
  if (done?.failed !== null) throw new Error(`the sweep failed: ${done?.failed}`);
  const seen = await w.look();
  for (const lane of m.lanes.values()) {
    if (lane.parked?.startsWith('switch:') !== true) continue;
    const scope = lane.parked.slice('switch:'.length);
    if (isOff(m, scope) || (scope === 'installation:moved' && m.copy === 'timeline')) continue;
    lane.parked = undefined;
    lane.dueAt = m.now;
  }
  const answered = new Map(
    seen.answers.filter((a) => a.answer !== null).map((a) => [a.id, given(a.answer ?? undefined)]),
  );
  for (const a of m.asked) {
    const answer = answered.get(a.id);
    if (answer !== undefined) carriedOut(m, a, answer);
  }
  m.asked = m.asked.filter((a) => !answered.has(a.id));
  cancels(m, seen);
  for (const e of m.effects.values())
    if (e.place === 'waiting' && e.dueAt <= m.now && seen.effects.some((x) => x.id === e.id && x.arrived !== null))
      e.place = 'arrived';
}

/** Cancels that a sweep carried out: only the head that nobody can have sent. */
function cancels(m: Model, seen: Seen): void {
  for (const e of m.effects.values()) {
    if (!e.cancelAsked || e.end !== undefined) continue;
    const mine = seen.answers.filter((a) => a.effect === e.id && a.action === 'cancel');
    if (mine.some((a) => a.answer === null)) continue;
    const answer = mine.at(-1)?.answer;
    if (answer !== 'cancelled') throw new Error(`the cancel of ${e.id} was answered ${answer} while it is ${e.place}`);
    const lane = m.lanes.get(e.lane);
    if (lane?.queue[0] !== e || lane.holder !== undefined || e.doubt || lane.trouble !== undefined)
      throw new Error(`effect ${e.id} was cancelled by a sweep while it may be sent or have been sent`);
    end(m, e, 'cancelled');
    goOn(m, e);
  }
}

/** The head leaves by a person's word; what is behind it is due. */
function goOn(m: Model, e: Effect): void {
  const lane = given(m.lanes.get(e.lane));
  leave(m, e);
  Object.assign(lane, { holder: undefined, parked: undefined, trouble: undefined, dueAt: m.now });
}

function carriedOut(m: Model, a: Asked, answer: string): void {
  const e = a.effect;
  const lane = m.lanes.get(e.lane);
  const isHead = lane?.queue[0] === e;
  const idle = lane?.holder === undefined || lane.holder.until <= m.now;
  const refuse = (why: string): never => {
    throw new Error(`${a.action} of effect ${e.id} was answered "${answer}": ${why}`);
  };
  if (answer.startsWith('resolved as ')) {
    if (!isHead || lane.trouble !== 'unknown' || !idle) refuse('its outcome is not unknown, or it is at work');
    if (answer === 'resolved as pending') {
      resolveAll(m, e);
      Object.assign(given(lane), { holder: undefined, parked: undefined, trouble: undefined, dueAt: m.now });
    } else {
      // Whoever says so has looked: it may be redriven as it is.
      if (a.as === 'failed') resolveAll(m, e);
      end(m, e, a.as === 'completed' ? 'completed' : 'failed');
      goOn(m, e);
    }
  } else if (answer === 'skipped') {
    if (!isHead || lane.holder !== undefined) refuse('it is not a head at rest');
    if (lane?.trouble === 'failed') goOn(m, e);
    else {
      if (e.doubt || lane?.trouble === 'unknown') refuse('it may have happened');
      end(m, e, 'cancelled');
      goOn(m, e);
    }
  } else if (answer === 'redriven') redriven(m, e, refuse);
  else if (answer === 'released') {
    if (e.place === 'waiting') e.dueAt = m.now;
    else if (!isHead || lane.holder !== undefined || e.doubt || lane.trouble !== undefined) refuse('it does not wait');
    else lane.dueAt = m.now;
  } else if (!/^(refused|not |on its way already)/.test(answer)) refuse('nobody expects that');
  else if (
    a.action === 'redrive' &&
    e.end?.state === 'failed' &&
    answer !== 'on its way already' &&
    !e.end.maybe &&
    !answer.includes('when it was asked')
  )
    refuse('it is a dead letter');
}

function redriven(m: Model, e: Effect, refuse: (why: string) => never): void {
  const was = e.end;
  if (was?.state !== 'failed') throw new Error(`effect ${e.id} was redriven and is not a dead letter`);
  const lane = m.lanes.get(e.lane);
  e.end = undefined;
  if (lane?.queue[0] === e) {
    Object.assign(lane, { parked: undefined, trouble: undefined, dueAt: m.now });
    return;
  }
  e.pos = 0;
  e.doubt = was.maybe;
  if (e.keyed) {
    if (was.maybe) refuse('it may have happened, and its lane has gone on');
    e.place = 'arrived';
    e.firstGo = undefined;
    return;
  }
  e.place = 'queued';
  m.lanes.set(e.lane, {
    name: e.lane,
    queue: [e],
    holder: undefined,
    fence: 0,
    dueAt: m.now,
    parked: undefined,
    trouble: undefined,
    firstAt: e.decidedAt,
  });
}
