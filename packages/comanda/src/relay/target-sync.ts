import type { TargetBeatRow } from '../outbox/engine.js';
import type { RelayEnvironment } from './environment.js';
import { createBell } from './signal.js';
import { isClosed, type Target } from './target.js';
import type { TargetLimits } from './target-limits.js';

/** Keeps what a relay knows about its targets and what the database knows the same. */
export interface TargetSync {
  /** Tells what was found, asks for shares, takes probes: once. */
  now(): Promise<void>;
  /** From now on about once a second, and whenever something was found. */
  start(): void;
  /** Something was found. */
  ring(): void;
  /** Gives the shares back. */
  stop(): Promise<void>;
}

const BEAT_MS = 1_000;
/** While a share is awaited that others have to give way for. */
const HUNGRY_MS = 250;
const FAILED_MS = 250;
/** How long a probe is granted; prolonged at each beat while it is under way. */
const PROBE_MS = 3_000;
/** Between two probes that found no work. */
const PROBE_AGAIN_MS = 2_000;

/** @param changed a target takes work again, or more of it */
export function createTargetSync(
  env: RelayEnvironment,
  targets: () => ReadonlyMap<string, Target>,
  limits: ReadonlyMap<string, TargetLimits>,
  changed: () => void,
): TargetSync {
  const { clock, engine } = env;
  const bell = createBell(clock);
  let tail: Promise<unknown> = Promise.resolve();
  let stopped = false;
  let running: Promise<void> = Promise.resolve();

  const beat = async (): Promise<void> => {
    const all = [...targets().values()];
    const asked = clock.monotonicMs();
    const rows = await engine.targetsBeat({
      relay: env.id,
      stopping: stopped,
      targets: all.map(({ name, kinds, held, queue }) => ({
        target: name,
        kinds,
        ...limits.get(name),
        held,
        slots: Math.max(queue.inFlight, queue.current === undefined ? 0 : (queue.current.slots ?? 0)),
      })),
    });
    const found = new Map(rows.map((row) => [row.target, row]));
    for (const target of all) {
      if (learn(env, target, { row: found.get(target.name), asked, limited: limits.has(target.name) })) changed();
    }
  };
  const probe = async (target: Target): Promise<void> => {
    const now = clock.monotonicMs();
    if (target.breaker === 'closed' || target.findings !== undefined) return;
    const mine = target.probeUntil > now;
    // Prolonged while it is under way; otherwise asked for when the wait is over.
    if (mine ? target.held === 0 : target.closedUntil > now || target.probeAfter > now) return;
    const { granted, wait_ms } = await engine.targetProbe({ relay: env.id, target: target.name, leaseMs: PROBE_MS });
    // What the probe found meanwhile is newer.
    if (target.findings !== undefined) return;
    if (!granted) {
      target.probeUntil = Number.NEGATIVE_INFINITY;
      target.closedUntil = Math.max(target.closedUntil, clock.monotonicMs() + Number(wait_ms));
      return;
    }
    target.breaker = 'half_open';
    target.probeUntil = now + PROBE_MS;
    target.probeAfter = target.probeUntil + PROBE_AGAIN_MS * env.random();
    if (!mine) changed();
  };
  const round = async (): Promise<void> => {
    // What one target cannot be told, because somebody holds its row, does not keep the shares of the others from them.
    const failed: unknown[] = [];
    const each = async (act: (target: Target) => Promise<void>): Promise<void> => {
      for (const target of targets().values()) await act(target).catch((error: unknown) => void failed.push(error));
    };
    await each((target) => tell(env, target));
    await beat();
    if (!stopped) await each(probe);
    if (failed.length > 0) throw failed[0];
  };
  /** One at a time: an answer must not be overtaken by an older one. */
  const next = (): Promise<void> => {
    const mine = tail.then(round, round);
    tail = mine.catch(() => undefined);
    return mine;
  };
  const waitMs = (): number => {
    const now = clock.monotonicMs();
    const waits = [...targets().values()].map((target) => {
      const { slots, rate } = target.queue.current ?? {};
      if (slots === 0 || rate === 0) return HUNGRY_MS;
      // A breaker whose wait is over is probed then.
      return target.breaker === 'closed' ? BEAT_MS : Math.max(target.closedUntil, target.probeAfter) - now;
    });
    const most = BEAT_MS * (0.8 + env.random() * 0.4);
    return Math.max(Math.min(most, ...waits.filter((ms) => ms > 0)), 10);
  };
  const loop = async (): Promise<void> => {
    while (!stopped) {
      try {
        await next();
        await bell.wait(waitMs());
      } catch (error) {
        const message = 'the database could not be asked about targets; without a share, limited ones get nothing';
        env.emit({ type: 'warning', code: 'targets_failed', message, error });
        await clock.sleep(FAILED_MS * (1 + env.random()), env.givenUp);
      }
    }
  };
  return {
    now: next,
    start: () => {
      running = loop();
    },
    ring: () => bell.ring(),
    stop: async () => {
      stopped = true;
      bell.ring();
      await running;
      await next().catch(() => undefined);
    },
  };
}

/** Tells the database what this relay found; what could not be told is kept. */
async function tell(env: RelayEnvironment, target: Target): Promise<void> {
  const { findings } = target;
  if (findings === undefined) return;
  const report = (more: Readonly<Record<string, unknown>>): Promise<void> =>
    env.engine.targetReport({ relay: env.id, target: target.name, ...more });
  const { ok, broke, pausedUntil, pauseReason } = findings;
  if (ok === true) await report({ ok });
  if (broke !== undefined) await report({ broke: true, ...broke });
  const pauseMs = pausedUntil === undefined ? 0 : pausedUntil - env.clock.monotonicMs();
  if (pauseMs > 0) await report({ pauseMs, reason: pauseReason });
  // What was found meanwhile is another object.
  if (target.findings === findings) target.findings = undefined;
}

/** Takes over what the database says. Returns whether more can be done now. */
function learn(
  env: RelayEnvironment,
  target: Target,
  {
    row,
    asked,
    limited,
  }: { readonly row: TargetBeatRow | undefined; readonly asked: number; readonly limited: boolean },
): boolean {
  const now = env.clock.monotonicMs();
  const { queue } = target;
  const had = queue.current;
  const shareMs = row === undefined && limited ? 0 : row?.share_ms;
  if (shareMs === undefined || shareMs === null) queue.share(undefined);
  else if (shareMs > 0)
    queue.share({ slots: row?.slots ?? undefined, rate: row?.rate ?? undefined, until: asked + shareMs });
  // Somebody holds its row, or is making it: the share that we have goes on until it ends.
  else if (had === undefined) queue.share({ slots: 0, rate: 0, until: now });
  const more = queue.current?.rate !== had?.rate || queue.current?.slots !== had?.slots;
  // What was found here since is newer than the answer.
  if (target.findings !== undefined) return more;
  const before = target.breaker;
  const wasClosed = isClosed(target, now);
  target.breaker = row?.breaker ?? 'closed';
  target.closedUntil = now + Number(row?.wait_ms ?? 0);
  if (row?.probe_by !== env.id) target.probeUntil = Number.NEGATIVE_INFINITY;
  if (before !== target.breaker) {
    env.emit({ type: 'target', target: target.name, breaker: target.breaker, waitMs: Number(row?.wait_ms ?? 0) });
    if (target.breaker === 'closed') Object.assign(target, { closedAt: now, failures: 0, probeAfter: now });
  }
  const closed = isClosed(target, now);
  if (closed) queue.release(0);
  return more || (wasClosed && !closed);
}
