import { randomBytes } from 'node:crypto';
import type { KindName } from '../kinds.js';
import { IDLE } from '../paths/control.js';
import type { Path } from '../paths/path.js';
import type { BookEntry } from '../stage/book.js';
import { startRelay } from '../stage/hand.js';
import { createStage } from '../stage/stage.js';
import type { Aim, Boundary } from '../watch/boundary.js';
import type { Polls } from '../watch/polls.js';
import { createTap, type Tap } from '../watch/tap.js';
import { actOf, dieWhen, dismiss } from './cast.js';
import { LASTING } from './databases.js';
import { judge, torn } from './judge.js';
import { leftBehind, rest } from './rest.js';
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

/** Plays a scene on a database of its own, kills where `aim` says, lets other processes go on from there, and judges. */
export async function run(world: World, scene: Scene, polls: Polls, aim?: Aim): Promise<RunEnd> {
  const { path, kind } = scene;
  const id = randomBytes(5).toString('hex');
  const database = await world.databases.take();
  const { pool, rescuer } = database;
  const staff = path.victim === 'caller' ? world.callers : world.relays;
  const tap = createTap(polls, aim);
  const base = `http://127.0.0.1:${world.provider.http}`;
  const addresses: Addresses = { database: database.url, http: world.provider.http, mail: world.provider.mail };
  const unwatched = { database: database.url, provider: base, mail: `127.0.0.1:${world.provider.mail}` };
  // One relay says one thing after the other; of two, each can have two statements under way.
  const times = { leaseMs: LEASE_MS, timeoutMs: path.timeoutMs ?? TIMEOUT_MS, pool: scene.relays };
  const rescue = { ...unwatched, ...times, connections: LASTING };
  const watched: Watched[] = [];
  const unattended: string[] = [];
  const wrong: string[] = [];
  let left = '';
  let isWhole = false;

  const look = async (): Promise<void> => {
    const { rows } = await pool.query<{ what: string; thing: string }>('select what, thing from comanda.unattended');
    unattended.push(...rows.map(({ what, thing }) => `${what}: ${thing}`));
  };
  const stage = createStage({
    kind,
    run: id,
    refuses: path.refuses === true,
    pool,
    book: async () => (await (await fetch(`${base}/${id}/book`)).json()) as readonly BookEntry[],
    act: (...statements) => actOf(world, () => lookedAt, tap, watched, database.url, statements),
    stopRelays: async () => {
      await Promise.race([Promise.all(watched.map((relay) => relay.stop())), tap.killed]);
      // Those that were not killed go on with what they were told.
      for (const { code, signal } of await Promise.all(watched.map((relay) => relay.child.exited)))
        if (code !== 0 && signal !== 'SIGKILL')
          wrong.push(`a relay that was asked to stop ended with ${code ?? signal}`);
    },
    wrong: (what) => void wrong.push(what),
  });
  const lookedAt = tap.killed.then(async () => {
    await look();
    left = await leftBehind(stage);
    wrong.push(...(await torn(stage)));
  });
  lookedAt.catch(() => undefined); // said where it is waited for

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

  try {
    await path.prepare?.(stage);
    if (path.predecessorDiesWhen !== undefined)
      await dieWhen(stage, world.relays.take(), path.predecessorDiesWhen, { ...unwatched, ...times });
    await start();
    const rescued = lookedAt.then(() => startRelay(rescuer, rescue));
    rescued.catch(() => undefined); // said where it is waited for
    await path.play(stage);
    let stop = tap.hasKilled ? await rescued : undefined;
    if (stop === undefined && (path.stops === true || path.victim === 'caller'))
      stop = await startRelay(rescuer, rescue);
    await rest(stage, path, look);
    if (stop === undefined && tap.hasKilled) stop = await rescued;
    await stop?.();
    // Whoever still works could still send.
    tap.end();
    await Promise.all(watched.filter((one) => !one.isGone()).map((one) => one.dismiss()));
    await look();
    const found = await judge(path, stage, unattended);
    isWhole = true;
    const verdict = { ...found, wrong: [...wrong, ...found.wrong] };
    return { seen: tap.seen, answers: tap.answers, hasKilled: tap.hasKilled, left, verdict };
  } finally {
    await Promise.all(watched.map((one) => dismiss(one, tap, staff)));
    await fetch(`${base}/${id}/book`, { method: 'DELETE' });
    await (isWhole ? database.release() : database.discard());
  }
}
