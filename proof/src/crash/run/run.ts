import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Child } from '@comanda/test-support';
import pg from 'pg';
import type { KindName } from '../kinds.js';
import { IDLE } from '../paths/control.js';
import type { Path } from '../paths/path.js';
import type { Act } from '../processes/configuration.js';
import type { BookEntry } from '../stage/book.js';
import { type ActEnd, perform, startRelay } from '../stage/hand.js';
import { clearUp } from '../stage/person.js';
import { createStage, type Stage } from '../stage/stage.js';
import type { Aim, Boundary } from '../watch/boundary.js';
import type { Polls } from '../watch/polls.js';
import { createTap, type Tap } from '../watch/tap.js';
import { judge } from './judge.js';
import type { Verdict } from './verdict.js';
import { type Addresses, type Watched, watch, watchRelay } from './victims.js';
import { LEASE_MS, TIMEOUT_MS, type World } from './world.js';

/** What is run: a path, for one kind, with so many relays. */
export interface Scene {
  readonly path: Path;
  readonly kind: KindName;
  readonly relays: number;
}

export interface RunEnd {
  readonly seen: readonly Boundary[];
  readonly answers: Tap['answers'];
  readonly hasKilled: boolean;
  /** What the kill left behind: the effects with their states, and what the provider had accepted. */
  readonly left: string;
  readonly verdict: Verdict;
}

/** A dead relay's lease is long enough that the relay under test is ready before it ends. */
const PREDECESSOR_LEASE_MS = 4_000;
const REST_MS = 40_000;

/** Plays a scene on a database of its own, kills where `aim` says, lets other processes go on from there, and judges. */
export async function run(world: World, scene: Scene, polls: Polls, aim?: Aim): Promise<RunEnd> {
  const { path, kind } = scene;
  const id = randomBytes(5).toString('hex');
  const database = await world.databases.take();
  const pool = new pg.Pool({ connectionString: database.url, max: 3 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const staff = path.victim === 'caller' ? world.callers : world.relays;
  const rescuer = world.relays.take();
  const tap = createTap(polls, aim);
  const base = `http://127.0.0.1:${world.provider.http}`;
  const addresses: Addresses = { database: database.url, http: world.provider.http, mail: world.provider.mail };
  const unwatched = { database: database.url, provider: base, mail: `127.0.0.1:${world.provider.mail}` };
  const times = { leaseMs: LEASE_MS, timeoutMs: path.timeoutMs ?? TIMEOUT_MS };
  const watched: Watched[] = [];
  const unattended: string[] = [];
  let left = '';

  const look = async (): Promise<void> => {
    const { rows } = await pool.query<{ what: string; thing: string }>('select what, thing from comanda.unattended');
    unattended.push(...rows.map(({ what, thing }) => `${what}: ${thing}`));
  };
  const stage = createStage({
    kind,
    run: id,
    pool,
    book: async () => (await (await fetch(`${base}/${id}/book`)).json()) as readonly BookEntry[],
    act: (...statements) => actOf(world, tap, watched, database.url, statements),
    stopRelays: async () => {
      await Promise.race([Promise.all(watched.map((relay) => relay.stop())), tap.killed]);
      // Those that were not killed go on with what they were told.
      await Promise.all(watched.map((relay) => relay.child.exited));
    },
  });

  const start = async (): Promise<void> => {
    if (path.victim === 'caller') {
      watched.push(await watch(staff.take, addresses, tap));
      return tap.begin();
    }
    if (path.name === IDLE) tap.begin();
    const relays = Array.from({ length: scene.relays }, () => watchRelay(staff.take(), addresses, times, tap));
    watched.push(...(await Promise.all(relays)));
    tap.begin();
  };
  const goOn = async (): Promise<() => Promise<void>> => {
    if (path.victim === 'relay') await Promise.race([tap.killed, gone(watched, path)]);
    await look();
    left = await leftBehind(stage);
    return await startRelay(rescuer, { ...unwatched, ...times });
  };

  try {
    await path.prepare?.(stage);
    if (path.predecessorDiesWhen !== undefined)
      await dieWhen(stage, world.relays.take(), path.predecessorDiesWhen, { ...unwatched, ...times });
    await start();
    const rescue = tap.killed.then(goOn);
    await path.play(stage);
    let stop = tap.hasKilled ? await rescue : undefined;
    if (stop === undefined && (path.stops === true || path.victim === 'caller'))
      stop = await startRelay(rescuer, { ...unwatched, ...times });
    await rest(stage, path, look);
    if (stop === undefined && tap.hasKilled) stop = await rescue;
    await stop?.();
    await look();
    return {
      seen: tap.seen,
      answers: tap.answers,
      hasKilled: tap.hasKilled,
      left,
      verdict: await judge(path, stage, unattended),
    };
  } finally {
    await Promise.all(watched.map((one) => dismiss(one, tap, staff)));
    await pool.end();
    world.relays.giveBack(rescuer);
    await fetch(`${base}/${id}/book`, { method: 'DELETE' });
    await database.release();
  }
}

/** What was not killed is used again; what cannot be stopped in order is killed. */
async function dismiss(one: Watched, tap: Tap, staff: World['relays']): Promise<void> {
  tap.end();
  if (!one.isGone()) await one.dismiss().catch(() => one.child.kill());
  one.close();
  staff.giveBack(one.child);
}

/** Until every effect has ended; whom nobody else can ask, a person answers. */
async function rest(stage: Stage, path: Path, look: () => Promise<void>): Promise<void> {
  const until = performance.now() + REST_MS;
  const names = Object.keys(path.ends);
  const open = async (): Promise<boolean> => {
    const rows = await stage.query<{ ref: string; state: string }>(
      'select name as ref, state from comanda.effect_state',
    );
    if (rows.some(({ state }) => state === 'unknown')) await clearUp(stage);
    return !names.every((name) => rows.some(({ ref, state }) => ref === name && ENDED.includes(state)));
  };
  // Whatever is still open then is found by the judge.
  while ((await open()) && performance.now() < until) await delay(60);
  await look();
}

const ENDED: readonly string[] = ['completed', 'failed', 'cancelled'];

async function actOf(
  world: World,
  tap: Tap,
  watched: readonly Watched[],
  url: string,
  statements: Act['statements'],
): Promise<ActEnd> {
  const victim = watched[0];
  if (victim !== undefined && !tap.hasKilled) {
    const act = { database: victim.addresses.database, statements };
    const end = await Promise.race([
      perform(victim.child, act).catch(() => undefined),
      tap.killed.then(() => undefined),
    ]);
    if (end !== undefined) return end;
  }
  // Nobody knows whether the act of a dead process was done: it is done again.
  const other = world.callers.take();
  const end = await perform(other, { database: url, statements });
  world.callers.giveBack(other);
  return end;
}

async function dieWhen(
  stage: Stage,
  child: Child,
  holds: (stage: Stage) => Promise<boolean>,
  config: Parameters<typeof startRelay>[1],
): Promise<void> {
  await startRelay(child, { ...config, leaseMs: PREDECESSOR_LEASE_MS });
  await stage.until('the predecessor to get as far as it has to die', () => holds(stage));
  await child.kill('SIGKILL');
}

async function gone(watched: readonly Watched[], path: Path): Promise<void> {
  if (path.stops !== true) return await new Promise(() => undefined);
  await Promise.all(watched.map(({ child }) => child.exited));
}

async function leftBehind(stage: Stage): Promise<string> {
  const rows = await stage.query<{ ref: string; state: string }>(
    'select name as ref, state from comanda.effect_state order by effect_id',
  );
  const book = await stage.book();
  const isAccepted = (ref: string): boolean => book.some((entry) => entry.event === 'accepted' && entry.ref === ref);
  const words = rows.map(
    ({ ref, state }) => `${rows.length > 1 ? `${ref} ` : ''}${state}${isAccepted(ref) ? ', accepted' : ''}`,
  );
  return words.length === 0 ? 'nothing decided' : words.join('; ');
}
