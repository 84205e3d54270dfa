import type { Session } from '../sql/kit/engine.js';
import { given } from '../sql/kit/steps.js';
import type { World } from './database.js';
import type { Effect, Model } from './model.js';
import { AUTHORS, KINDS, LANES, UNIT_MS } from './terms.js';

/** What a caller decides. */
export interface Choice {
  readonly kind: number;
  /** 0 = no ordering key. */
  readonly lane: number;
  /** Units; 0 = at once. */
  readonly delay: number;
  readonly window: boolean;
  readonly effects: number;
  readonly by: number;
}

interface Answer {
  readonly status: string;
  readonly created: boolean;
}

const call = (s: Session, request: string): Promise<Answer> =>
  s.row<Answer>('select status, created from comanda.try_decide($1::text::jsonb)', [request]);

/** A caller's transaction that has not committed. */
export interface Open {
  readonly run: string;
  readonly request: string;
  readonly effects: readonly Effect[];
}

export async function decide(s: Session, m: Model, run: string, c: Choice): Promise<Open> {
  const by = given(AUTHORS[c.by % AUTHORS.length]);
  const lane = c.lane % (LANES.length + 1) === 0 ? undefined : given(LANES[(c.lane % (LANES.length + 1)) - 1]);
  const names = Array.from({ length: c.effects }, (_, i) => `e${i}`);
  const kinds = names.map((_, i) => given(KINDS[(c.kind + (c.kind % 2) * i) % KINDS.length]));
  const request = JSON.stringify({
    key: run,
    ...by,
    effects: names.map((name, i) => ({
      name,
      kind: given(kinds[i]).kind,
      payload: { run, i },
      ...(lane === undefined ? {} : { orderingKey: lane }),
      ...(c.delay === 0 ? {} : { [c.window ? 'cancelWindowMs' : 'delayMs']: c.delay * UNIT_MS }),
    })),
  });
  const said = await call(s, request);
  if (said.status !== 'decided' || !said.created)
    throw new Error(`the decision ${run} was answered ${JSON.stringify(said)}`);
  const ids = await s.rows<{ id: number }>(
    'select e.id from comanda.effect e join comanda.run r on r.id = e.run_id where r.key = $1 order by e.id',
    [run],
  );
  if (ids.length !== names.length) throw new Error(`the decision ${run} has ${ids.length} effects`);
  const effects = ids.map(
    ({ id }, i): Effect => ({
      id,
      run,
      name: given(names[i]),
      kind: given(kinds[i]),
      lane: lane === undefined ? `e:${id}` : `k:${lane}`,
      keyed: lane !== undefined,
      by,
      decidedAt: m.now,
      place: c.delay === 0 ? 'arrived' : 'waiting',
      pos: 0,
      dueAt: m.now + c.delay,
      doubt: false,
      firstGo: undefined,
      evidence: false,
      end: undefined,
      cancelAsked: false,
      applied: [],
      replays: 0,
    }),
  );
  return { run, request, effects };
}

/** From the commit on it is there. Time passes by moving rows, and nobody else can move the rows of an open transaction: for them it begins now. */
export function committed(m: Model, open: Open): void {
  m.runs.set(open.run, open.request);
  for (const e of open.effects) {
    e.dueAt += m.now - e.decidedAt;
    e.decidedAt = m.now;
    m.effects.set(e.id, e);
  }
}

/** The same decision again, as after a lost answer, or another one under its key. Neither makes an effect: the look after it counts them. */
export async function repeat(w: World, m: Model, pick: number, other: boolean): Promise<boolean> {
  const runs = [...m.runs.values()];
  const request = runs[pick % Math.max(runs.length, 1)];
  if (request === undefined) return false;
  const said = await call(w.s, other ? request.replace('"i":0', '"i":99') : request);
  const expected = other ? 'conflict' : 'existing';
  if (said.status !== expected || said.created)
    throw new Error(`a repeated decision was answered ${JSON.stringify(said)}`);
  return true;
}
