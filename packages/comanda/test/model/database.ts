import { type Engine, engine, type Session } from '../sql/kit/engine.js';
import { KINDS, TIMEOUT, UNIT_MS } from './terms.js';

/** One effect as the database shows it. */
export interface SeenEffect {
  readonly id: number;
  readonly state: string;
  readonly waiting: number;
  readonly arrived: number | null;
  readonly queued: number | null;
  readonly places: number;
  readonly outcomes: number;
}

export interface SeenLane {
  readonly lane: string;
  readonly fence: number;
  readonly owner: string | null;
  readonly parked: string | null;
  readonly trouble: string | null;
}

export interface Seen {
  readonly holes: readonly string[];
  readonly effects: readonly SeenEffect[];
  readonly lanes: readonly SeenLane[];
  readonly answers: readonly {
    readonly id: number;
    readonly effect: number;
    readonly action: string;
    readonly answer: string | null;
  }[];
}

/** The database of the model tests: one for a file, emptied between runs. */
export interface World {
  readonly s: Engine;
  /** A caller's transaction that stays open. */
  readonly caller: Session;
  /** Everything that a run has left is gone; switches run; the installation is the adopted one. */
  reset(): Promise<void>;
  look(): Promise<Seen>;
  /** Time passes: every moment that is stored lies so much further back. */
  pass(units: number): Promise<void>;
}

/** Built from the catalog, so that a column that is added tomorrow is moved too. */
const HELPERS = `
create schema model;
create table model.installation as select * from comanda.installation;
do $do$
declare
  moves text; empties text;
begin
  select string_agg(format('update comanda.%I set %s;', t, c), ' ') into moves from (
    select r.relname as t, string_agg(format('%1$I = %1$I - d', a.attname), ', ') as c
      from pg_class r join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and a.atttypid = 'timestamptz'::regtype
      where r.relnamespace = 'comanda'::regnamespace and r.relkind in ('r', 'p') and not r.relispartition
        and r.relname not in ('installation', 'effect_kind', 'policy') group by r.relname) x;
  select string_agg(format('delete from comanda.%I;', r.relname), ' ') into empties from pg_class r
    where r.relnamespace = 'comanda'::regnamespace and r.relkind in ('r', 'p') and not r.relispartition
      and r.relname not in ('installation', 'effect_kind', 'policy', 'feed', 'ended_mark', 'switch');
  execute format('create function model.pass(d interval) returns void language plpgsql as $f$ begin %s end $f$', moves);
  execute format($g$create function model.reset() returns void language plpgsql as $f$ begin %s
    delete from comanda.switch where scope <> 'all'; update comanda.switch set mode = 'run';
    delete from comanda.installation; insert into comanda.installation select * from model.installation; end $f$ $g$, empties);
end $do$;
-- plpgsql keeps the plan: planning is what costs here.
create function model.look() returns jsonb language plpgsql set jit = off as $f$
begin
  return jsonb_build_object(
    'holes', (select coalesce(jsonb_agg(u.what || coalesce(' ' || u.effect_id, '')), '[]') from comanda.unattended u),
    'effects', (select coalesce(jsonb_agg(jsonb_build_object('id', s.effect_id, 'state', s.state, 'waiting', w.n, 'arrived', a.p, 'queued', q.p,
        'places', w.n + a.n + q.n, 'outcomes', (select count(*) from comanda.outcome o where o.effect_id = s.effect_id)) order by s.effect_id), '[]')
      from comanda.effect_state s
      cross join lateral (select count(*) as n from comanda.waiting x where x.effect_id = s.effect_id) w
      cross join lateral (select count(*) as n, min(x.id) as p from comanda.effect_arrival x where x.effect_id = s.effect_id) a
      cross join lateral (select count(*) as n, min(x.pos) as p from comanda.effect_queue x where x.effect_id = s.effect_id) q),
    'lanes', (select coalesce(jsonb_agg(jsonb_build_object('lane', l.lane, 'fence', l.fence, 'owner', l.owner, 'parked', l.parked_by, 'trouble', l.trouble)), '[]') from comanda.lane l),
    'answers', (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'effect', r.effect_id, 'action', r.action, 'answer', r.answer) order by r.id), '[]') from comanda.effect_request r));
end $f$;`;

export async function world(): Promise<World> {
  const s = await engine();
  const caller = await s.session();
  await s.call('publish_kinds', {
    by: 'model',
    kinds: KINDS.map(({ kind, target, idempotency, reconcile }) => ({
      kind,
      version: 1,
      target,
      risk: 'irreversible',
      idempotency,
      onUnknown: reconcile ? 'reconcile' : 'ask-human',
      maxAttempts: 8,
      timeoutMs: TIMEOUT * UNIT_MS,
    })),
  });
  await s.client.query(HELPERS);
  return {
    s,
    caller,
    reset: async () => void (await s.rows('select model.reset()')),
    look: async () => (await s.row<{ look: Seen }>('select model.look()')).look,
    pass: async (units) => void (await s.rows(`select model.pass($1 * interval '1 millisecond')`, [units * UNIT_MS])),
  };
}
