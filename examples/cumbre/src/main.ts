/*
 * The demo: the shop Cumbre, each part a process of its own, and a killer. See examples/cumbre/README.md.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { runDemo } from './show/demo.js';
import { bookFolder } from './show/folder.js';
import { HELP, type Options, readOptions } from './show/options.js';
import { SLOWEST_MS } from './show/providers.js';
import { report } from './show/report.js';
import { type Result, settleUp } from './show/result.js';
import { buildStage } from './show/stage.js';
import { styleFor } from './show/style.js';
import { nextSteps, openView } from './show/view.js';

async function run(options: Options, signal: AbortSignal, stop: (why: string) => void): Promise<Result | undefined> {
  const style = styleFor(process.stdout, process.env);
  const view = openView(options.json ? undefined : process.stdout, style);
  const folder = bookFolder(options.books);
  const closers: (() => Promise<void>)[] = [];
  try {
    const stage = await buildStage({
      folder: folder.path,
      databaseUrl: options.databaseUrl,
      seed: options.seed,
      say: (what) => {
        signal.throwIfAborted();
        view.say(what);
      },
      onClose: (close) => void closers.push(close),
      onLost: stop,
    });
    const happened = await runDemo(stage, { ...options, ...view, signal });
    if (signal.aborted) return undefined;
    // What a provider still had in hand is in its book after this: a late duplicate would be counted.
    await delay(SLOWEST_MS + 300);
    const result = await settleUp(stage, happened, folder.path, options.seed);
    view.close();
    if (options.json) console.log(JSON.stringify(result));
    else view.print([...report(result, happened.kills, style), ...nextSteps(stage, options, style)]);
    if (options.keep && !signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return result;
  } finally {
    view.close();
    // One after the other, last first: who uses something ends before it.
    for (const close of closers.reverse()) await close().catch((error: unknown) => console.error(error));
    folder.remove();
  }
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if ('help' in options) return print(HELP, 0);
  if ('wrong' in options) return print(`${options.wrong}\nnpm start -- --help lists the options.`, 2);
  const stopping = new AbortController();
  let why: string | undefined;
  const stop = (reason?: string): void => {
    why ??= reason;
    stopping.abort();
  };
  let askedAt = Number.POSITIVE_INFINITY;
  const onSignal = (): void => {
    // Asked again: at once; nothing outlives this process. The echo of the same Ctrl-C that npm passes on does not count.
    if (performance.now() - askedAt > 1_000) process.exit(130);
    askedAt = Math.min(askedAt, performance.now());
    stop();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, onSignal);
  process.stdout.on('error', () => stop()); // nobody reads any more
  try {
    const result = await run(options, stopping.signal, stop);
    if (why !== undefined) throw new Error(why);
    if (result === undefined) return 130;
    return result.balanced ? 0 : 1;
  } catch (error) {
    if (stopping.signal.aborted && why === undefined) return 130;
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

function print(text: string, code: number): number {
  (code === 0 ? console.log : console.error)(text);
  return code;
}

process.exit(await main());
