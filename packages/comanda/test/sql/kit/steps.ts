import { expect } from 'vitest';
import type { Row, Session } from './engine.js';

/** One effect of a decision, in the words of the SQL door. */
export interface EffectInput {
  readonly kind?: string;
  readonly name?: string;
  readonly target?: string;
  readonly payload?: unknown;
  readonly key?: string;
  readonly orderingKey?: string;
  readonly delayMs?: number;
  readonly subjectVersion?: number;
  readonly dueAt?: string;
  readonly cancelWindowMs?: number;
}

/** One claimed effect. */
export interface Claimed {
  readonly lane: string;
  readonly fence: number;
  readonly pos: number;
  readonly effect_id: number;
  readonly kind: string;
  readonly target: string;
  readonly attempt: number;
  readonly suspect: boolean;
  readonly cancel: boolean;
  readonly lost: number;
  readonly looks: number;
  readonly trouble: string | null;
}

/** The live row of a lane. */
export interface Lane {
  readonly lane: string;
  readonly kind: string;
  readonly target: string;
  readonly due: 'now' | 'later' | 'parked';
  readonly fence: number;
  readonly owner: string | null;
  readonly attempt: number;
  readonly inflight_to: number | null;
  readonly suspect_to: number | null;
  readonly cleared_to: number | null;
  readonly first_at: Date | null;
  readonly trouble: string | null;
  readonly looks: number;
  readonly lost: number;
  readonly parked_by: string | null;
}

export const LEASE_MS = 30_000;

/** Decides `key` with these effects (kind `mail` unless they say otherwise) and returns their numbers. */
export async function decide(
  s: Session,
  key: string,
  effects: readonly EffectInput[],
  more: Row = {},
): Promise<number[]> {
  await s.call('decide', { key, effects: effects.map((e) => ({ kind: 'mail', ...e })), ...more });
  const found = await s.rows<{ id: number }>(
    'select e.id from comanda.effect e join comanda.run r on r.id = e.run_id where r.key = $1 order by e.id',
    [key],
  );
  return found.map(({ id }) => id);
}

/** `n` effects of one ordering key, each in a decision of its own. */
export async function decideInOrder(
  s: Session,
  orderingKey: string,
  n: number,
  effect: EffectInput = {},
): Promise<number[]> {
  const ids: number[] = [];
  for (let i = 1; i <= n; i++) ids.push(...(await decide(s, `${orderingKey}-${i}`, [{ ...effect, orderingKey }])));
  return ids;
}

const allowed = (kinds: readonly string[], lanes: number, batch: number) =>
  kinds.map((kind) => ({ kind, lanes, batch }));

/** Puts what has arrived on lanes, leasing none of them unless `kinds` are named. Returns what was leased. */
export async function route(
  s: Session,
  options: { relay?: string; kinds?: readonly string[]; lanes?: number } = {},
): Promise<Claimed[]> {
  const { relay = 'r1', kinds = [], lanes = 100 } = options;
  const leased = await s.call<Claimed>('route', {
    relay,
    leaseMs: LEASE_MS,
    kinds: allowed(kinds, lanes, 1),
    batch: 1000,
  });
  return leased.filter((row) => row.lane !== null);
}

/** Claims due lanes. */
export async function claim(
  s: Session,
  options: { relay?: string; kinds?: readonly string[]; lanes?: number; batch?: number } = {},
): Promise<Claimed[]> {
  const { relay = 'r1', kinds = ['mail'], lanes = 100, batch = 10 } = options;
  return await s.call<Claimed>('claim', { relay, leaseMs: LEASE_MS, kinds: allowed(kinds, lanes, batch) });
}

/** Claims and expects exactly one effect. */
export async function claimOne(s: Session, relay = 'r1', batch = 1): Promise<Claimed> {
  const claimed = await claim(s, { relay, batch });
  expect(claimed).toHaveLength(1);
  return given(claimed[0]);
}

/** What was expected to be there. */
export function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a value was expected here, and there is none');
  return value;
}

/** A record of an effect that ended. */
export function ended(
  claimed: Claimed | undefined,
  state: 'completed' | 'failed' | 'cancelled' = 'completed',
  more: Row = {},
): Row {
  const c = given(claimed);
  return {
    pos: c.pos,
    effect: c.effect_id,
    attempt: c.attempt,
    state,
    ...(state === 'cancelled' ? {} : { outcome: state }),
    ...more,
  };
}

/** A record of a head that did not end. */
export function head(claimed: Claimed | undefined, outcome: string, more: Row = {}): Row {
  const c = given(claimed);
  return { effect: c.effect_id, attempt: c.attempt, outcome, ...more };
}

/** Settles one lane under the claim's fence and returns the answer. */
export async function settle(s: Session, claimed: Claimed | undefined, mode: string, more: Row = {}): Promise<string> {
  const c = given(claimed);
  const [row] = await s.call<{ result: string }>('settle', {
    relay: 'r1',
    leaseMs: LEASE_MS,
    lanes: [{ lane: c.lane, fence: c.fence, mode, ...more }],
  });
  return String(row?.result);
}

/** Asks whether a claimed effect may be sent, and returns the answer. */
export async function maySend(
  s: Session,
  claimed: Claimed | undefined,
  more: Row = {},
  floor = 'none',
  relay = 'r1',
): Promise<string> {
  const c = given(claimed);
  const item = {
    lane: c.lane,
    fence: c.fence,
    effect: c.effect_id,
    attempt: c.attempt,
    suspect: c.suspect,
    lost: c.lost,
    mark: false,
    needMs: 100,
    ...more,
  };
  const [row] = await s.call<{ answer: string }>('may_send', { relay, floor, items: [item] });
  return String(row?.answer);
}

/** One pass of housekeeping. */
export async function sweep(s: Session): Promise<{ moved: number; unparked: number; answered: number; ran: boolean }> {
  const [row] = await s.call<{ moved: number; unparked: number; answered: number; ran: boolean }>('sweep', {
    relay: 'r1',
  });
  if (row === undefined) throw new Error('sweep returned no row');
  return row;
}

/** The live row of a lane; `undefined` when there is none. */
export async function lane(s: Session, name: string): Promise<Lane | undefined> {
  const [row] = await s.rows<Lane>(
    `select l.*, case when ready_at = 'infinity' then 'parked' when ready_at <= clock_timestamp() then 'now' else 'later' end as due
       from comanda.lane l where l.lane = $1`,
    [name],
  );
  return row;
}

/** The state of an effect as everybody sees it. */
export async function state(s: Session, effect: number | undefined): Promise<string> {
  const { state } = await s.row<{ state: string }>('select state from comanda.effect_state where effect_id = $1', [
    effect,
  ]);
  return state;
}

/** The states of several effects, in the order given. */
export async function states(s: Session, effects: readonly number[]): Promise<string[]> {
  const found: string[] = [];
  for (const effect of effects) found.push(await state(s, effect));
  return found;
}

/** Time passes for leases and back-off: every lane that is not parked is due. */
export async function everythingIsDue(s: Session): Promise<void> {
  await s.rows(
    `update comanda.lane set ready_at = clock_timestamp() - interval '1 millisecond' where ready_at < 'infinity'`,
  );
}

/** Time passes for what waits. */
export async function nothingWaits(s: Session): Promise<void> {
  await s.rows(`update comanda.waiting set next_at = clock_timestamp() - interval '1 millisecond'`);
}

/** What `unattended` finds: empty unless a test has made a hole by hand. */
export async function holes(s: Session): Promise<string[]> {
  return (await s.rows<{ what: string }>('select what from comanda.unattended order by what')).map(({ what }) => what);
}

/** Turns a switch. */
export async function turn(s: Session, scope: string, mode: string): Promise<void> {
  await s.call('switch_set', { scope, mode, by: 'ada', reason: 'test' });
}

/** Asks for an act of a person on an effect and returns what a sweep answers; `open` when it must wait. */
export async function ask(s: Session, effect: number | undefined, action: string, more: Row = {}): Promise<string> {
  const [asked] = await s.call<{ request_id: number }>('request', {
    effect,
    action,
    by: 'ada',
    reason: 'test',
    ...more,
  });
  await sweep(s);
  const { answer } = await s.row<{ answer: string | null }>('select answer from comanda.effect_request where id = $1', [
    asked?.request_id,
  ]);
  return answer ?? 'open';
}
