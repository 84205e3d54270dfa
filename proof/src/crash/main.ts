import { sample, together } from './crowd.js';
import { type Killed, kill, killTitle } from './kill.js';
import { tryWay, WAYS } from './naive/orders.js';
import { type Options, optionsOf, USAGE } from './options.js';
import { type Job, jobsOf, learnPolls, type Recorded, record, scenes, titleOf } from './plan.js';
import { figuresOf, isProven, isWhole } from './report/figures.js';
import { writePage } from './report/page.js';
import { asText, pathTable } from './report/table.js';
import type { Scene } from './run/run.js';
import { isClean } from './run/verdict.js';
import { createWorld, type World } from './run/world.js';
import { idOf } from './watch/boundary.js';

const RECORDERS = 2;

const tell = (text: string): void => void process.stderr.write(`${text}\n`);

function chosen(options: Options): readonly Scene[] {
  const all = scenes(options.relays, options);
  if (options.full || options.list) return all;
  const names = [...new Set(all.map(({ path }) => path.name))];
  // One scene for each path, so that no sample leaves a path out.
  return names.flatMap((name) =>
    sample(
      all.filter(({ path }) => path.name === name),
      1,
      options.seed + name.length,
    ),
  );
}

/** As many as were asked for, and at least one on each path. */
function sampleOf(all: readonly Job[], { sample: size, seed }: Options): readonly Job[] {
  const drawn = sample(all, all.length, seed);
  const first = [...new Map(drawn.toReversed().map((job) => [job.path.name, job])).values()];
  return [...first, ...drawn.filter((job) => !first.includes(job))].slice(0, Math.max(size, first.length));
}

async function prove(world: World, options: Options): Promise<boolean> {
  const polls = await learnPolls(world);
  // On a busy machine much would be recorded that never comes again: renewals, second looks.
  const recorded: readonly Recorded[] = await together(chosen(options), Math.min(options.workers, RECORDERS), (scene) =>
    record(world, scene, polls),
  );
  if (options.list) {
    for (const scene of recorded)
      console.log([titleOf(scene), ...scene.boundaries.map((one) => `  ${idOf(one)}`)].join('\n'));
    return true;
  }
  const all = jobsOf(recorded);
  const jobs = options.full ? sample(all, all.length, options.seed) : sampleOf(all, options);
  const until = performance.now() + options.within * 60_000;
  tell(`${recorded.length} scenes recorded; ${jobs.length} of ${all.length} kills, seed ${options.seed}`);
  let done = 0;
  const killed: readonly Killed[] = await together(
    jobs,
    options.workers,
    async (job) => {
      const one = await kill(world, job, polls);
      done += 1;
      if (one.verdict === undefined) tell(`did not come again: ${killTitle(job)}`);
      else if (!isClean(one.verdict)) tell(`WRONG ${killTitle(job)}: ${JSON.stringify(one.verdict)}`);
      if (done % 50 === 0) tell(`${done} of ${jobs.length}`);
      return one;
    },
    () => performance.now() < until,
  );
  if (killed.length < jobs.length) tell(`the time is over: ${killed.length} of ${jobs.length} kills`);
  const naive = await together(WAYS, options.workers, (way) => tryWay(world, way));
  const figures = figuresOf(recorded, killed);
  if (options.json) console.log(JSON.stringify(figures));
  else console.log(asText(pathTable(recorded, killed, naive)));
  if (options.full && figures.uncovered.length > 0) tell(`killed nowhere: ${figures.uncovered.join(', ')}`);
  const isGood = isProven(figures, jobs.length) && (!options.full || isWhole(figures, recorded));
  if (options.write && !(isGood && options.full && options.path === undefined && options.kind === undefined))
    tell('Only a whole run of all paths and kinds that proves itself is written into the page: nothing was written.');
  else if (options.write) writePage(recorded, killed, naive);
  if (naive.some(({ lost, duplicated }) => lost + duplicated === 0))
    tell('A way that must lose or double did neither: the judges are blind.');
  return isGood && naive.every(({ lost, duplicated }) => lost + duplicated > 0);
}

async function main(): Promise<number> {
  let options: Options;
  try {
    options = optionsOf(process.argv.slice(2));
  } catch (error) {
    tell(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  if (scenes(options.relays, options).length === 0) {
    tell(`There is no such path or kind.\n\n${USAGE}`);
    return 2;
  }
  const world = await createWorld();
  try {
    return (await prove(world, options)) ? 0 : 1;
  } finally {
    await world.end();
  }
}

process.exit(await main());
