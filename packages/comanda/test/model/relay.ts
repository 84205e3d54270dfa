import type { Idempotency } from '../../src/ports/effect-kind.js';
import type { Row } from '../sql/kit/engine.js';
import { type Claimed, given } from '../sql/kit/steps.js';
import type { World } from './database.js';
import { covering, type Effect, isForgotten, isMoved, type Lane, type Model, type Wire } from './model.js';
import { claimability, settled, take } from './rules.js';
import { KINDS, LEASE, LIFETIME, MARGIN, UNIT_MS } from './terms.js';

export type SettleMode = 'keep' | 'next' | 'retry' | 'unsure' | 'unknown' | 'absent' | 'block';

/** What a relay has in its hands: a lane under a fence, effects one after the other. It knows what it was told, never the model. */
export interface Held {
  readonly lane: string;
  readonly fence: number;
  until: number;
  readonly rows: readonly Claimed[];
  readonly evidence: ReadonlySet<number>;
  readonly started: ReadonlySet<number>;
  at: number;
  /** Ended and not yet written. */
  done: { readonly effect: Effect; readonly state: 'completed' | 'failed' | 'cancelled'; readonly record: Row }[];
  stage: 'claimed' | 'go' | 'sent';
  as: Idempotency;
  suspect: boolean;
  wire: Wire | undefined;
  /** The switches when it was claimed: what `drain` lets through. */
  readonly step: number;
}

export interface Relay {
  readonly name: string;
  held: Held[];
}

/** What a settlement writes beside the effects that have ended. */
export interface Settlement {
  readonly mode: SettleMode;
  readonly delay?: number;
  readonly more?: Row;
  readonly outcome?: string;
}

/** Claims, and checks that what came is what the contract gives: due lanes, prefixes of one kind, suspects alone and marked. */
export async function claim(
  w: World,
  m: Model,
  relay: Relay,
  kinds: number,
  batch: number,
  lanes: number,
): Promise<void> {
  const wanted = KINDS.filter((_, i) => (kinds & (1 << i)) !== 0);
  const free = [...m.switches].some(([scope, { mode }]) => scope.startsWith('target:') && mode !== 'run') ? 100 : lanes;
  const expected = new Map<string, 'take' | 'park'>();
  for (const lane of m.lanes.values()) {
    for (const kind of wanted) {
      const what = claimability(m, lane, kind);
      if (what !== 'leave') expected.set(lane.name, what);
    }
  }
  const rows = await w.s.call<Claimed>('claim', {
    relay: relay.name,
    leaseMs: LEASE * UNIT_MS,
    kinds: wanted.map((k) => ({ kind: k.kind, lanes: free, batch: k.idempotency === 'none' ? 1 : batch })),
  });
  const came = new Set(rows.map((row) => row.lane));
  for (const kind of wanted) {
    const due = [...expected].filter(([name]) => m.lanes.get(name)?.queue[0]?.kind === kind).map(([name]) => name);
    const taken = due.filter((name) => came.has(name)).length;
    const most = Math.min(free, due.filter((name) => expected.get(name) === 'take').length);
    if (taken !== most)
      throw new Error(`${kind.kind}: ${taken} lanes were claimed, ${most} of ${due.join(' ')} expected`);
  }
  for (const name of came)
    if (expected.get(name) !== 'take') throw new Error(`lane ${name} was claimed and is not to be had`);
  for (const [name, what] of expected) {
    const lane = given(m.lanes.get(name));
    if (what === 'park') {
      if (lane.holder !== undefined) for (const e of lane.holder.inflight) e.doubt = true;
      lane.holder = undefined;
      lane.parked = `switch:target:${given(lane.queue[0]).kind.target}`;
    }
  }
  await hold(w, m, relay, rows, batch);
}

/** Routes, leasing new lanes of these kinds. */
export async function route(w: World, m: Model, relay: Relay, kinds: number): Promise<void> {
  const wanted = KINDS.filter((_, i) => (kinds & (1 << i)) !== 0);
  const rows = await w.s.call<Claimed>('route', {
    relay: relay.name,
    leaseMs: LEASE * UNIT_MS,
    kinds: wanted.map((k) => ({ kind: k.kind, lanes: 100 })),
    batch: 1000,
  });
  const arrived = [...m.effects.values()].filter((e) => e.place === 'arrived').sort((x, y) => x.pos - y.pos);
  const fresh: Lane[] = [];
  for (const e of arrived) {
    let lane = m.lanes.get(e.lane);
    if (lane === undefined) {
      lane = {
        name: e.lane,
        queue: [],
        holder: undefined,
        fence: 0,
        dueAt: m.now,
        parked: undefined,
        trouble: undefined,
        firstAt: undefined,
      };
      m.lanes.set(e.lane, lane);
      fresh.push(lane);
    }
    lane.queue.push(e);
    e.place = 'queued';
  }
  const leased = fresh
    .filter((lane) => wanted.some((kind) => claimability(m, lane, kind) === 'take'))
    .map((lane) => lane.name)
    .sort();
  const came = rows.flatMap((row) => (row.lane === null ? [] : [row.lane])).sort();
  if (came.join() !== leased.join()) throw new Error(`route leased ${came.join(' ')}, expected ${leased.join(' ')}`);
  await hold(
    w,
    m,
    relay,
    rows.filter((row) => row.lane !== null),
    1,
  );
}

async function hold(w: World, m: Model, relay: Relay, rows: readonly Claimed[], batch: number): Promise<void> {
  const byLane = new Map<string, Claimed[]>();
  for (const row of rows) byLane.set(row.lane, [...(byLane.get(row.lane) ?? []), row]);
  if (rows.length === 0) return;
  const effects = rows.map((row) => row.effect_id);
  const suspects = rows.filter((row) => row.suspect || row.trouble === 'unknown').map((row) => row.effect_id);
  const info = await w.s.call<{
    effect_id: number;
    started_ms_ago: number | null;
    evidence: string | null;
    idempotency_key: string;
  }>('payloads', { effects, suspects });
  for (const [name, own] of byLane) {
    const lane = given(m.lanes.get(name));
    const trouble = lane.trouble;
    const taken = own.map((row) => given(m.effects.get(row.effect_id)));
    const prefix = lane.queue.slice(0, taken.length);
    if (taken.some((e, i) => e !== prefix[i])) throw new Error(`lane ${name}: not the head's prefix`);
    if (taken.some((e) => e.kind !== taken[0]?.kind)) throw new Error(`lane ${name}: more than one kind in a claim`);
    take(m, lane, relay.name, given(own[0]).fence, taken);
    if (taken.length > (taken[0]?.doubt || trouble !== undefined ? 1 : batch))
      throw new Error(`lane ${name}: ${taken.length} in a claim`);
    for (const [i, row] of own.entries()) {
      const e = given(taken[i]);
      if (row.suspect !== e.doubt) throw new Error(`effect ${e.id}: suspect ${row.suspect}, expected ${e.doubt}`);
      if (i === 0 && row.trouble !== (trouble ?? null)) throw new Error(`effect ${e.id}: trouble ${row.trouble}`);
      const read = info.find((x) => x.effect_id === e.id);
      if (read?.idempotency_key !== `${e.run}/${e.name}`)
        throw new Error(`effect ${e.id}: key ${read?.idempotency_key}`);
      if ((row.suspect || row.trouble === 'unknown') && (read.evidence === 'completed') !== e.evidence)
        throw new Error(`effect ${e.id}: evidence ${read.evidence}, expected ${e.evidence}`);
    }
    relay.held.push({
      lane: name,
      fence: given(own[0]).fence,
      until: m.now + LEASE,
      rows: own,
      evidence: new Set(info.filter((x) => x.evidence === 'completed').map((x) => x.effect_id)),
      started: new Set(info.filter((x) => x.started_ms_ago !== null).map((x) => x.effect_id)),
      at: 0,
      done: [],
      stage: 'claimed',
      as: taken[0]?.kind.idempotency ?? 'none',
      suspect: false,
      wire: undefined,
      step: m.step,
    });
  }
}

/** Is this claim still the lane's? */
function isOwner(m: Model, h: Held): boolean {
  const lane = m.lanes.get(h.lane);
  return lane?.holder !== undefined && lane.fence === h.fence;
}

/** Asks whether the effect may leave, and checks the answer against every reason that the contract knows. */
export async function maySend(w: World, m: Model, relay: Relay, h: Held, suspect: boolean): Promise<string> {
  const row = given(h.rows[h.at]);
  const e = given(m.effects.get(row.effect_id));
  const lane = m.lanes.get(h.lane);
  const mark = e.kind.idempotency === 'none';
  const must = new Set<string>();
  const may = new Set<string>();
  if (!isOwner(m, h)) must.add('lost');
  else {
    if ((lane?.holder?.until ?? 0) <= m.now) must.add('short');
    // Drain lets through what was claimed before it was set.
    const off = covering(m, e, ['hold', 'stop']).concat(
      covering(m, e, ['drain']).filter((scope) => (m.switches.get(scope)?.since ?? 0) <= h.step),
    );
    if (off.length > 0 || m.copy === 'database' || isMoved(m, e.kind)) must.add('off');
    for (const _ of covering(m, e, ['drain'])) may.add('off');
    if (m.copy === 'timeline' && isForgotten(m, e, e.decidedAt)) must.add('off');
    const forgotten = isForgotten(m, e, e.firstGo);
    if (forgotten) must.add(suspect ? 'forgotten' : 'go:none');
    else if (isForgotten(m, e, lane?.firstAt)) may.add(suspect ? 'forgotten' : 'go:none');
    if (e.evidence && (mark || forgotten)) must.add('applied');
    else if (e.evidence) may.add('applied');
    if (e.cancelAsked && !suspect) must.add('cancel');
  }
  const [said] = await w.s.call<{ answer: string }>('may_send', {
    relay: relay.name,
    floor: 'none',
    items: [
      {
        lane: h.lane,
        fence: h.fence,
        effect: row.effect_id,
        attempt: row.attempt,
        suspect,
        lost: h.at === 0 ? row.lost : 0,
        mark,
        needMs: 100,
        ...(e.kind.forgets ? { windowMs: (LIFETIME - MARGIN) * UNIT_MS } : {}),
      },
    ],
  });
  const answer = given(said).answer;
  const short = answer.startsWith('off:') ? 'off' : answer;
  const allowed = must.size > 0 ? must.has(short) || may.has(short) : may.has(short) || answer === 'go';
  if (!allowed)
    throw new Error(
      `effect ${e.id}: may_send said ${answer}, expected ${[...must].join(' ') || 'go'} (or ${[...may].join(' ')})`,
    );
  if (short === 'go' || short === 'go:none') e.firstGo ??= m.now;
  return answer;
}

/** Settles what was done and what the head is, in the database and in the model, and checks the answer. */
export async function settle(w: World, m: Model, relay: Relay, h: Held, s: Settlement): Promise<string> {
  const row = h.rows[h.at];
  const head = row === undefined ? undefined : m.effects.get(row.effect_id);
  const request = {
    relay: relay.name,
    leaseMs: LEASE * UNIT_MS,
    lanes: [
      {
        lane: h.lane,
        fence: h.fence,
        mode: s.mode,
        ...(s.delay === undefined ? {} : { delayMs: s.delay * UNIT_MS }),
        ...s.more,
        ...(s.outcome === undefined
          ? {}
          : { head: { effect: row?.effect_id, attempt: row?.attempt, outcome: s.outcome } }),
        ...(h.done.length === 0 ? {} : { ended: h.done.map((d) => d.record) }),
      },
    ],
  };
  const expected = isOwner(m, h) ? 'ok' : 'fenced';
  const [said] = await w.s.call<{ result: string }>('settle', request);
  if (said?.result !== expected)
    throw new Error(`settle ${s.mode} of ${h.lane} said ${said?.result}, expected ${expected}`);
  if (expected === 'fenced') {
    await keepEvidence(w, m, relay, h, s, head);
    relay.held = relay.held.filter((x) => x !== h);
    return 'fenced';
  }
  const { reason, trouble } = { ...s.more } as { reason?: string; trouble?: 'unknown' | 'failed' };
  settled(m, given(m.lanes.get(h.lane)), {
    mode: s.mode,
    delay: s.delay ?? 0,
    ...(reason === undefined ? {} : { reason }),
    ...(trouble === undefined ? {} : { trouble }),
    head,
    ended: h.done.map((d) => ({ effect: d.effect, state: d.state, maybe: d.record['maybe'] === true })),
  });
  h.done = [];
  if (s.mode === 'keep') h.until = m.now + LEASE;
  else relay.held = relay.held.filter((x) => x !== h);
  // A repeated call, as after a lost answer, changes nothing: the look after this command would see it.
  if (s.mode !== 'keep') {
    const [again] = await w.s.call<{ result: string }>('settle', request);
    if (again?.result !== 'fenced') throw new Error(`a repeated settle of ${h.lane} said ${again?.result}`);
  }
  return 'ok';
}

async function keepEvidence(
  w: World,
  m: Model,
  relay: Relay,
  h: Held,
  s: Settlement,
  head: Effect | undefined,
): Promise<void> {
  const items = h.done
    .filter((d) => d.record['outcome'] !== undefined)
    .map((d) => ({ ...d.record, fence: h.fence }) as Row);
  if (s.outcome !== undefined && head !== undefined)
    items.push({ effect: head.id, attempt: 1, outcome: s.outcome, fence: h.fence });
  if (items.length === 0) return;
  const kept = await w.s.call<{ effect_id: number; kept: boolean }>('late_evidence', { relay: relay.name, items });
  for (const item of items) {
    const e = given(m.effects.get(Number(item['effect'])));
    if (item['outcome'] === 'completed' && kept.some((k) => k.effect_id === e.id && k.kept)) e.evidence = true;
  }
}

/** Prolongs the leases that it believes in. */
export async function renew(w: World, m: Model, relay: Relay, h: Held): Promise<void> {
  const lane = m.lanes.get(h.lane);
  const expected = isOwner(m, h) && (lane?.holder?.until ?? 0) > m.now ? 'ok' : 'lost';
  const [said] = await w.s.call<{ result: string }>('renew', {
    relay: relay.name,
    leaseMs: LEASE * UNIT_MS,
    lanes: [{ lane: h.lane, fence: h.fence }],
  });
  if (said?.result !== expected) throw new Error(`renew of ${h.lane} said ${said?.result}, expected ${expected}`);
  if (expected !== 'ok' || lane?.holder === undefined) return;
  lane.holder.until = m.now + LEASE;
  h.until = m.now + LEASE;
}
