import { setMaxListeners } from 'node:events';
import { systemClock } from '../kernel/clock.js';
import { type Duration, parseDuration } from '../kernel/durations.js';
import { comandaError } from '../kernel/errors.js';
import { newId, systemRandom } from '../kernel/ids.js';
import { BUSY_POLL_MS, LEASE_MAX_LIFE_MS, LEASE_MS, SAFETY_POLL_MS, SHUTDOWN_GRACE_MS } from '../kernel/limits.js';
import { DEFAULT_SCHEMA } from '../kernel/schema-name.js';
import { type AttemptRecord, createEngine, type Place } from '../outbox/engine.js';
import type { RelayEvent } from '../ports/telemetry.js';
import { checkVersion, refuseBlindFunctions } from '../schema/version.js';
import type { ClaimedLane } from './claimed-lane.js';
import { lookOnce } from './claims.js';
import { deadlined } from './deadlined.js';
import type { RelayEnvironment } from './environment.js';
import { createHolding, isReadOnly } from './holding.js';
import { BEAT_MS, beat, createTrouble, every, type SwitchView } from './housekeeping.js';
import { runLane } from './lane-runner.js';
import { createLeases, type Leases } from './leases.js';
import type { AiActions, Relay, RelayOptions, RelayStatus } from './options.js';
import { createRegistry, published } from './registry.js';
import { createSendGate } from './send-gate.js';
import { createSettler, keepEvidence } from './settler.js';
import { createBell } from './signal.js';
import { createSuspects } from './suspects.js';
import { breakerOf, checkLimits } from './target-limits.js';
import { createTargetSync } from './target-sync.js';
import { createTargets } from './targets.js';

const FLOORS = { enabled: 'none', unset: 'agents', disabled: 'agents_and_undeclared' } as const satisfies Record<
  AiActions,
  string
>;
const SWEEP_MS = 250;
/** Polls that found nothing get longer up to here before the relay sleeps and decisions notify it. */
const DROWSY_MS = 40;
const AWAKE_FOR_MS = 500;
/** After the grace: for outcomes of aborted handlers to be written. */
const LAST_WORDS_MS = 3_000;

/**
 * Makes a relay: the process part that executes decided effects. Nothing happens before `start()`.
 * Any number of relays, on any number of machines, can work on one database.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG, COMANDA_UNSAFE_EFFECT
 */
export function createRelay(options: RelayOptions): Relay {
  const clock = options.clock ?? systemClock;
  const random = options.random ?? systemRandom;
  const schema = options.schema ?? DEFAULT_SCHEMA;
  const givenUp = new AbortController();
  // Every lane can wait on it at once while the database is away: many listeners are no leak here.
  setMaxListeners(0, givenUp.signal);
  const ms = (value: Duration | undefined, fallback: number, name: string, minMs: number, maxMs: number): number =>
    parseDuration(value ?? fallback, name, { minMs, maxMs });
  const leaseMs = ms(options.lease, LEASE_MS, 'lease', 500, 3_600_000);
  const holding = createHolding(observerOf(options), clock);
  const env: RelayEnvironment = {
    id: `relay-${newId()}`,
    engine: createEngine(deadlined(options.database, clock, Math.max(leaseMs / 2, 2_000)), schema, placeOf(options)),
    registry: createRegistry(options.effects, leaseMs),
    leaseMs,
    leaseMaxLifeMs: ms(options.leaseMaxLife, LEASE_MAX_LIFE_MS, 'leaseMaxLife', 1_000, 24 * 3_600_000),
    batch: options.batch ?? 10,
    floor: FLOORS[options.aiActions ?? 'unset'],
    clock,
    random,
    emit: holding.tell,
    givenUp: givenUp.signal,
  };
  const safetyPollMs = ms(options.safetyPoll, SAFETY_POLL_MS, 'safetyPoll', 10, 60_000);
  const graceMs = ms(options.shutdownGrace, SHUTDOWN_GRACE_MS, 'shutdownGrace', 0, 3_600_000);

  const bell = createBell(clock);
  const settler = createSettler(env);
  const gate = createSendGate(env);
  let leases: Leases | undefined;
  let state: RelayStatus['state'] = 'new';
  let view: SwitchView = { version: '0', mode: null, stopped: [], holds: null };
  let listening = false;
  let lastPoll = clock.monotonicMs();
  let lastEnd = clock.monotonicMs();
  let lastBeat = lastPoll;
  let running: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  let starting: Promise<void> | undefined;
  const lanes = new Map<ClaimedLane, Promise<void>>();
  const jobs: { stop(): void }[] = [];
  let subscription: { close(): Promise<void> } | undefined;

  const targets = createTargets(
    env,
    breakerOf(options.breaker ?? {}),
    () => lanes.keys(),
    () => sync.ring(),
  );
  const sync = createTargetSync(env, targets.all, checkLimits(options.targets ?? {}, env.registry), () => bell.ring());

  const services = {
    env,
    targets,
    gate,
    settler,
    runSuspect: createSuspects(clock),
    stopping: () => state === 'stopping' || state === 'stopped',
    late: (lane: ClaimedLane, record: AttemptRecord) => void keepEvidence(env, lane, [record]),
  };

  const begin = (claimed: readonly ClaimedLane[]): void => {
    const effects = claimed.reduce((sum, lane) => sum + lane.effects.length, 0);
    env.emit({ type: 'claimed', lanes: claimed.length, effects });
    for (const lane of claimed) {
      leases?.add(lane);
      const ended = runLane(services, lane)
        .catch(() => undefined)
        .then(() => {
          lanes.delete(lane);
          lastEnd = clock.monotonicMs();
          leases?.remove(lane);
          bell.ring();
        });
      lanes.set(lane, ended);
    }
  };

  const look = async (): Promise<number> => {
    const found = await lookOnce(env, targets.room(), begin);
    lastPoll = clock.monotonicMs();
    return found.routed + found.lanes;
  };

  const loop = async (): Promise<void> => {
    let emptyMs = BUSY_POLL_MS;
    const trouble = createTrouble(env, 'poll_failed', 'the database could not be asked for work');
    let awakeUntil = 0;
    const stayAwake = async (): Promise<void> => {
      const now = clock.monotonicMs();
      if (now < awakeUntil) return;
      awakeUntil = now + AWAKE_FOR_MS / 2;
      await env.engine.awake(options.listener === undefined ? 'always' : AWAKE_FOR_MS);
    };
    while (state === 'running') {
      try {
        const found = await look();
        trouble.over();
        if (found > 0) {
          emptyMs = BUSY_POLL_MS;
          await stayAwake();
          // Free places are taken together: the next look comes when some are free, or shortly.
          await bell.wait(targets.room().some((kind) => kind.lanes > 0) ? 1 : BUSY_POLL_MS);
        } else if (emptyMs <= DROWSY_MS) {
          await bell.wait(emptyMs);
          emptyMs *= 2;
        } else {
          // Asleep from here on: decisions notify. One more look after saying so, because one may just have read `awake`.
          awakeUntil = 0;
          await env.engine.awake(options.listener === undefined ? 'always' : 0);
          if ((await look()) > 0) emptyMs = BUSY_POLL_MS;
          else await bell.wait(safetyPollMs * (0.9 + random() * 0.2));
        }
      } catch (error) {
        const failures = trouble.again(error);
        await clock.sleep(Math.min(2_000, 25 * 2 ** Math.min(failures, 7)) * (0.5 + random() / 2));
      }
    }
  };

  /** Makes itself known. On a server that can only be read it waits: a start during a failover is no mistake of anybody. */
  const introduce = async (): Promise<void> => {
    while (state === 'starting') {
      try {
        await env.engine.publishKinds({ by: env.id, kinds: [...env.registry.values()].map(published) });
        view = await beat(env, options.softwareVersion ?? '', view.version, false);
        holding.heard(whyHeld(view));
        return;
      } catch (error) {
        if (!isReadOnly(error)) throw error;
        env.emit({ type: 'warning', code: 'start_failed', message: 'the relay cannot start yet', error });
        await bell.wait(BEAT_MS);
      }
    }
  };

  const start = async (): Promise<void> => {
    if (state !== 'new')
      throw comandaError('COMANDA_INVALID_CONFIG', { problem: `a relay starts once; this one is ${state}` });
    state = 'starting';
    starting = (async () => {
      await checkVersion(options.database, schema);
      await refuseBlindFunctions(options.database, schema);
      await introduce();
      // Asked before anything runs: from then on a database that goes away is waited for.
      const channel = options.listener === undefined ? undefined : await env.engine.channel();
      await sync.now();
      if (state !== 'starting') return;
      leases = createLeases(env);
      sync.start();
      jobs.push(
        every(env, BEAT_MS, 'heartbeat', async () => {
          const before = view.version;
          view = await beat(env, options.softwareVersion ?? '', view.version, false);
          lastBeat = clock.monotonicMs();
          if (before !== view.version) {
            // Obeyed from here on: said at once, so that `switch --wait` need not wait for the next beat.
            await beat(env, options.softwareVersion ?? '', view.version, false);
            bell.ring();
          }
          holding.heard(whyHeld(view));
          if (view.mode === 'stop')
            for (const lane of lanes.keys()) if (!lane.looking) lane.stop.stop(new Error('switched off'));
        }),
        every(env, SWEEP_MS, 'sweep', async () => {
          const done = await env.engine.sweep({ relay: env.id });
          if (done.failed !== null)
            env.emit({
              type: 'warning',
              code: 'sweep_part_failed',
              message: 'a part of the sweep failed, the others are done',
              error: new Error(done.failed),
            });
          if (done.moved + done.unparked + done.answered > 0) bell.ring();
        }),
      );
      state = 'running';
      lastPoll = clock.monotonicMs();
      lastBeat = lastPoll;
      env.emit({ type: 'started', relayId: env.id, kinds: [...env.registry.keys()] });
      running = loop();
      if (options.listener !== undefined && channel !== undefined) {
        subscription = await options.listener.listen(
          channel,
          () => bell.ring(),
          (up, reason) => {
            listening = up;
            env.emit({ type: 'listen', up, ...(reason === undefined ? {} : { reason }) });
          },
        );
      }
    })();
    try {
      await starting;
    } catch (error) {
      state = 'stopped';
      for (const job of jobs) job.stop();
      leases?.stop();
      await sync.stop();
      throw error;
    }
  };

  const shutDown = async (): Promise<void> => {
    const before = state;
    state = 'stopping';
    bell.ring();
    await starting?.catch(() => undefined);
    if (before === 'new' || before === 'stopped') {
      state = 'stopped';
      return;
    }
    bell.ring();
    targets.release();
    // Leases stay alive while the running effects end.
    const ended = (running ?? Promise.resolve()).then(() => Promise.all(lanes.values()));
    const grace = new AbortController();
    const inTime = await Promise.race([ended.then(() => true), clock.sleep(graceMs, grace.signal).then(() => false)]);
    grace.abort();
    if (!inTime) {
      for (const lane of lanes.keys()) lane.stop.stop(new Error('the relay stops'));
      // Handlers end within a moment of their abort; a database that does not answer is not waited for: leases end by themselves.
      const last = clock.after(LAST_WORDS_MS, () => givenUp.abort());
      await Promise.all(lanes.values());
      last.cancel();
    }
    await settler.flush();
    givenUp.abort();
    for (const job of jobs) job.stop();
    leases?.stop();
    await sync.stop();
    await subscription?.close().catch(() => undefined);
    await env.engine.awake(0).catch(() => undefined);
    await beat(env, options.softwareVersion ?? '', view.version, true).catch(() => undefined);
    state = 'stopped';
    env.emit({ type: 'stopped', relayId: env.id });
  };

  const stop = (): Promise<void> => {
    stopped ??= shutDown();
    return stopped;
  };

  return {
    id: env.id,
    start,
    stop,
    drain: async ({ within = '60s' } = {}) => {
      const deadline = clock.monotonicMs() + parseDuration(within, 'drain within');
      let quiet = 0;
      while (quiet < 2) {
        if (clock.monotonicMs() > deadline)
          throw new Error(`not drained within ${String(within)}: ${lanes.size} lanes still run`);
        const swept = await env.engine.sweep({ relay: env.id });
        if (state !== 'running') await sync.now();
        const found = state === 'running' ? lanes.size : await look();
        quiet = found + swept.moved + swept.unparked + swept.answered + lanes.size === 0 ? quiet + 1 : 0;
        await Promise.race([Promise.all(lanes.values()), bell.wait(BUSY_POLL_MS)]);
      }
    },
    status: () => ({
      state,
      lanes: lanes.size,
      listening,
      switchVersion: view.version,
      holds: holding.reason,
      sinceLastPollMs: Math.round(clock.monotonicMs() - lastPoll),
      sinceLastBeatMs: Math.round(clock.monotonicMs() - lastBeat),
      sinceLastEndMs: Math.round(clock.monotonicMs() - lastEnd),
    }),
    [Symbol.asyncDispose]: stop,
  };
}

function placeOf({ environment, endpoint }: RelayOptions): Place {
  for (const [name, value] of Object.entries({ environment, endpoint })) {
    // What a URL would bring along must not reach a table that many may read.
    if (value !== undefined && !/^[^\s@]{1,512}$/.test(value))
      throw comandaError('COMANDA_INVALID_CONFIG', {
        problem: `${name} must be a text of 1 to 512 characters without spaces and without @`,
      });
  }
  return { ...(environment === undefined ? {} : { environment }), ...(endpoint === undefined ? {} : { endpoint }) };
}

/** Why a relay that was just heard acts on nothing, or on less; the reason names what to do. */
function whyHeld({ mode, holds }: SwitchView): string | null {
  if (holds?.startsWith('row-level security')) return holds;
  if (holds !== null)
    return `this installation is not the adopted one: ${holds}. If it is a copy, leave it so; if it is the real one: comanda adopt`;
  return mode === 'run' ? null : `the switch is ${mode ?? 'missing'}`;
}

/** A throwing observer is the observer's problem. */
function observerOf(options: RelayOptions): (event: RelayEvent) => void {
  return (event) => {
    try {
      options.observer?.(event);
    } catch {
      // An observer must not throw; the relay goes on.
    }
  };
}
