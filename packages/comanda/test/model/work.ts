import { given } from '../sql/kit/steps.js';
import type { World } from './database.js';
import { accept, type Effect, flying, type Model } from './model.js';
import { type Held, maySend, type Relay, type Settlement, settle } from './relay.js';
import { SETTLED, TIMEOUT } from './terms.js';

/** What a relay does with what it holds, as DESIGN 6 and 7 tell every relay, in whatever language, to do it. */

const effectOf = (m: Model, h: Held): Effect => given(m.effects.get(given(h.rows[h.at]).effect_id));

/** May have happened: looked up when nothing can be under way any more, or put before a person. */
function unknown(
  e: Effect,
  delay: number,
  outcome: string | undefined,
  more: Readonly<Record<string, unknown>> = {},
): Settlement {
  const said = outcome === undefined ? {} : { outcome };
  return e.kind.reconcile
    ? { mode: 'unknown', delay, more, ...said }
    : { mode: 'block', more: { ...more, trouble: 'unknown', reason: 'unknown: only a person can tell' }, ...said };
}

function record(
  h: Held,
  state: string,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const row = given(h.rows[h.at]);
  return { pos: row.pos, effect: row.effect_id, attempt: row.attempt, state, ...more };
}

/** The effect in hand has ended. Written now, with what is behind it kept or given up, or held back for the next one. */
async function ended(
  w: World,
  m: Model,
  relay: Relay,
  h: Held,
  state: 'completed' | 'failed' | 'cancelled',
  more: Readonly<Record<string, unknown>>,
  how: 'hold' | 'keep' | 'next',
): Promise<void> {
  h.done.push({ effect: effectOf(m, h), state, record: record(h, state, more) });
  h.at += 1;
  h.stage = 'claimed';
  h.wire = undefined;
  if (h.at >= h.rows.length) await settle(w, m, relay, h, { mode: 'next' });
  else if (how !== 'hold' || state !== 'completed')
    await settle(w, m, relay, h, { mode: how === 'hold' ? 'keep' : how });
}

/** A dead letter: it blocks its keyed lane, visibly; an unkeyed one leaves the hot tables. */
async function fail(w: World, m: Model, relay: Relay, h: Held, maybe: boolean): Promise<void> {
  const e = effectOf(m, h);
  if (!e.keyed) return ended(w, m, relay, h, 'failed', { outcome: 'failed', reason: 'refused', maybe }, 'next');
  await settle(w, m, relay, h, {
    mode: 'block',
    outcome: 'failed',
    more: { trouble: 'failed', headFailed: true, maybe, reason: 'failed: refused' },
  });
}

/** Judges what is uncertain, looks up, or asks for leave. `tells`: the provider answers a look-up. */
export async function step(w: World, m: Model, relay: Relay, h: Held, tells: boolean): Promise<void> {
  const row = given(h.rows[h.at]);
  const e = effectOf(m, h);
  const { idempotency } = e.kind;
  const isUnknown = h.at === 0 && row.trouble === 'unknown';
  const giveBack = !isUnknown;
  h.as = idempotency;
  h.suspect = row.suspect || isUnknown;
  if (row.lost >= 3 && isUnknown)
    return void (await settle(w, m, relay, h, {
      mode: 'block',
      more: { trouble: 'unknown', reason: 'unknown: its look-ups kill' },
    }));
  if (row.lost >= 3 && idempotency !== 'none') return fail(w, m, relay, h, true);
  if (h.suspect) {
    if (h.evidence.has(e.id)) return ended(w, m, relay, h, 'completed', { reason: 'late evidence' }, 'next');
    if (!isUnknown && idempotency === 'none' && !h.started.has(e.id)) h.suspect = false;
    else if (isUnknown || idempotency !== 'key') {
      if (row.lost > 0 && row.looks === 0) {
        const mode = idempotency === 'natural' && !isUnknown ? 'unsure' : 'unknown';
        return void (await settle(w, m, relay, h, {
          mode,
          delay: TIMEOUT,
          more: { giveBack, keepLost: true, looked: true },
        }));
      }
      if (isUnknown || idempotency === 'none') return look(w, m, relay, h, tells, giveBack);
    }
  }
  const answer = await maySend(w, m, relay, h, h.suspect);
  if (answer === 'go' || answer === 'go:none') {
    h.stage = 'go';
    if (answer === 'go:none') h.as = 'none';
  } else if (answer === 'lost') await lost(w, m, relay, h);
  else if (answer === 'cancel') await ended(w, m, relay, h, 'cancelled', { reason: 'cancelled on request' }, 'keep');
  else if (answer === 'applied') await ended(w, m, relay, h, 'completed', { reason: 'late evidence' }, 'next');
  else if (answer === 'forgotten') await settle(w, m, relay, h, unknown(e, SETTLED, undefined, { giveBack }));
  else if (answer.startsWith('off:'))
    await settle(w, m, relay, h, { mode: 'block', more: { reason: `switch:${answer.slice(4)}`, giveBack } });
  else await settle(w, m, relay, h, { mode: 'retry', delay: 0, more: { giveBack } });
}

async function lost(w: World, m: Model, relay: Relay, h: Held): Promise<void> {
  if (h.done.length > 0) await settle(w, m, relay, h, { mode: 'next' });
  relay.held = relay.held.filter((x) => x !== h);
}

async function look(w: World, m: Model, relay: Relay, h: Held, tells: boolean, giveBack: boolean): Promise<void> {
  const e = effectOf(m, h);
  if (!e.kind.reconcile) return void (await settle(w, m, relay, h, unknown(e, 0, undefined, { giveBack })));
  // Its lease is over, and it knows: it looks nothing up.
  if (h.until <= m.now) return lost(w, m, relay, h);
  if (!tells)
    await settle(w, m, relay, h, {
      mode: 'unknown',
      delay: 1,
      outcome: 'cannot_tell',
      more: { looked: true, giveBack },
    });
  else if (e.applied.length > 0)
    await ended(w, m, relay, h, 'completed', { outcome: 'applied', reason: 'reconciled: applied' }, 'next');
  else {
    if (flying(m, e).length > 0) throw new Error(`effect ${e.id} is looked up while a request is under way`);
    await settle(w, m, relay, h, { mode: 'absent', outcome: 'absent' });
  }
}

/** The bytes leave, if it is still this relay's turn by its own clock. */
export async function send(
  w: World,
  m: Model,
  relay: Relay,
  h: Held,
  fate: 'flying' | 'accepted' | 'lost',
): Promise<void> {
  const e = effectOf(m, h);
  if (h.until <= m.now)
    return void (await settle(w, m, relay, h, { mode: 'retry', delay: 0, outcome: 'retry', more: { giveBack: true } }));
  if (h.as !== 'key' && flying(m, e).length > 0)
    throw new Error(`effect ${e.id} is sent while an earlier request is under way`);
  if (h.as === 'none' && m.wires.some((x) => x.effect === e && !x.resolved))
    throw new Error(`effect ${e.id} is sent again and nobody knows what became of the last time`);
  const before = m.lanes.get(e.lane)?.queue.find((x) => !h.done.some((d) => d.effect === x));
  if (before !== e) throw new Error(`effect ${e.id} is sent out of turn`);
  const wire = { effect: e, fence: h.fence, until: h.until + TIMEOUT, fate, resolved: false };
  m.wires.push(wire);
  if (fate === 'accepted') accept(m, wire);
  h.wire = wire;
  h.stage = 'sent';
}

export const OUTCOMES = ['completed', 'uncertain', 'refused', 'retry', 'unknown', 'exhausted'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The handler ends: what it can say depends on what became of its request. */
export async function answer(
  w: World,
  m: Model,
  relay: Relay,
  h: Held,
  wanted: Outcome,
  delay: number,
  how: 'hold' | 'keep' | 'next',
): Promise<void> {
  const e = effectOf(m, h);
  const wire = given(h.wire);
  const possible: readonly Outcome[] =
    wire.fate === 'accepted'
      ? ['completed', 'uncertain', 'unknown', 'exhausted']
      : wire.fate === 'flying'
        ? ['uncertain', 'unknown', 'exhausted']
        : ['uncertain', 'refused', 'retry', 'unknown', 'exhausted'];
  const said = possible.includes(wanted) ? wanted : given(possible[0]);
  if (said === 'completed') {
    wire.resolved = true;
    return ended(
      w,
      m,
      relay,
      h,
      'completed',
      { outcome: 'completed', providerId: `p${e.id}` },
      h.as === 'none' && how === 'hold' ? 'keep' : how,
    );
  }
  if (said === 'refused' && h.suspect && e.kind.idempotency === 'natural')
    return void (await settle(w, m, relay, h, unknown(e, 0, 'unknown')));
  const certain = said === 'refused' || said === 'retry';
  if (certain && m.lanes.get(h.lane)?.fence === h.fence) wire.resolved = true;
  if (said === 'refused') return fail(w, m, relay, h, h.suspect);
  if (said === 'retry') await settle(w, m, relay, h, { mode: 'retry', delay, outcome: 'retry' });
  else if (h.as === 'none' || said !== 'uncertain') await settle(w, m, relay, h, unknown(e, SETTLED, 'unknown'));
  else
    await settle(w, m, relay, h, {
      mode: 'unsure',
      delay: h.as === 'natural' ? Math.max(delay, SETTLED) : delay,
      outcome: 'retry',
    });
}

/** A clean release of what was not sent; without a word about it, it counts as a lease that ran out. */
export async function giveBack(w: World, m: Model, relay: Relay, h: Held, silent: boolean): Promise<void> {
  const isUnknown = h.at === 0 && given(h.rows[0]).trouble === 'unknown';
  if (silent) await settle(w, m, relay, h, { mode: 'next' });
  else await settle(w, m, relay, h, { mode: 'retry', delay: 0, more: { giveBack: !isUnknown } });
}
