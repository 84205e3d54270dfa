import { KINDS, type KindName } from './kinds.js';
import { IDLE } from './paths/control.js';
import { PATHS } from './paths/index.js';
import { run, type Scene } from './run/run.js';
import { isClean } from './run/verdict.js';
import type { World } from './run/world.js';
import { type Aim, type Boundary, POINTS } from './watch/boundary.js';
import { createPolls, type Polls } from './watch/polls.js';

/** A scene with what was seen in it when nobody was killed. */
export interface Recorded extends Scene {
  readonly boundaries: readonly Boundary[];
}

/** One kill. */
export interface Job extends Scene {
  readonly aim: Aim;
}

/** The scenes of all paths, kinds and numbers of relays that are wanted. */
export function scenes(
  relays: readonly number[],
  wanted: { readonly path?: string | undefined; readonly kind?: string | undefined },
): readonly Scene[] {
  const paths = PATHS.filter(({ name }) => wanted.path === undefined || name === wanted.path);
  return paths.flatMap((path) => {
    const kinds = (path.kinds ?? KINDS).filter((kind: KindName) => wanted.kind === undefined || kind === wanted.kind);
    const counts = path.victim === 'caller' ? relays.slice(0, 1) : relays;
    return counts.flatMap((count) => kinds.map((kind) => ({ path, kind, relays: count })));
  });
}

/** What a relay without work repeats, and is told: learned by watching one. */
export async function learnPolls(world: World): Promise<Polls> {
  const [idle] = scenes([1], { path: IDLE });
  if (idle === undefined) throw new Error('there is no path of an idle relay');
  const { answers } = await run(world, idle, createPolls());
  const names = new Map<string, Set<string>>();
  const times = new Map<string, number>();
  for (const { name, answer } of answers) {
    times.set(name, (times.get(name) ?? 0) + 1);
    names.set(name, (names.get(name) ?? new Set()).add(answer));
  }
  return createPolls(new Map([...names].filter(([name]) => (times.get(name) ?? 0) > 1)));
}

/** Plays a scene without a kill and lists what was seen. A scene that is wrong without a kill is a fault of its own. */
export async function record(world: World, scene: Scene, polls: Polls): Promise<Recorded> {
  const { seen: all, verdict } = await run(world, scene, polls);
  const seen = all.filter((boundary) => isOwn(scene.path, boundary));
  if (!isClean(verdict)) throw new Error(`${titleOf(scene)}: wrong without any kill: ${JSON.stringify(verdict)}`);
  if (seen.length === 0) throw new Error(`${titleOf(scene)}: nothing was seen; an empty path proves nothing`);
  return { ...scene, boundaries: seen };
}

/** A poll that learns nothing new is the same everywhere: it is killed where a relay has nothing else to do. */
function isOwn(path: Scene['path'], { idle }: Boundary): boolean {
  return !idle || path.name === IDLE;
}

export function jobsOf(recorded: readonly Recorded[]): readonly Job[] {
  return recorded.flatMap(({ boundaries, ...scene }) =>
    boundaries.flatMap((boundary) => POINTS.map((point) => ({ ...scene, aim: { boundary, point } }))),
  );
}

export function titleOf({ path, kind, relays }: Scene): string {
  return `${path.name} (${kind}${path.victim === 'relay' ? `, ${relays} ${relays === 1 ? 'relay' : 'relays'}` : ''})`;
}
