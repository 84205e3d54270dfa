import type { Listener, Queryable } from 'comanda';
import { systemClock } from 'comanda/internal';
import { createRelay, type Relay, type RelayOptions } from 'comanda/relay';
import type { RelayConfig } from './config.js';
import { type Environment, readAiActions } from './environment.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { createGaugeReader } from './health/read-gauges.js';
import { type HealthOptions, type HealthServer, openHealthServer } from './health/server.js';
import { createRelayLog, type RelayLog } from './relay-log.js';
import { errorText, type LogLevel } from './relay-messages.js';
import { onStopSignal } from './signals.js';
import type { Terminal } from './terminal.js';

/** How often the relay looks when nothing wakes it. */
const SAFETY_POLL_MS = 1_000;

/** What a relay process is made of. */
export interface RelayRun {
  readonly db: Queryable;
  readonly listener: Listener | undefined;
  readonly config: RelayConfig;
  readonly schema: string;
  readonly environment?: string;
  readonly endpoint?: string;
  readonly env: Environment;
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly version: string;
  readonly log: RelayLog;
  /** Where its health is told; nowhere when it is missing. */
  readonly health?: HealthOptions;
  /** Ends the relay in order, as the first signal does. */
  readonly end?: AbortSignal;
}

/** A log of relay events on a terminal, with the host's clock. */
export function relayLog(terminal: Terminal, options: { readonly json: boolean; readonly level: LogLevel }): RelayLog {
  return createRelayLog(terminal, {
    ...options,
    now: () => new Date(systemClock.wallMs()).toISOString(),
    monotonicMs: systemClock.monotonicMs,
  });
}

/**
 * Runs a relay until SIGTERM or SIGINT; the second signal ends the process at once. An error that a handler lets loose (a timer, a promise that
 * nobody awaits) is logged, the relay stops in order, and the exit code is 1: the state of the process can no longer be trusted.
 */
export async function runRelay(run: RelayRun): Promise<ExitCode> {
  const { log } = run;
  const ai = readAiActions(run.env);
  log.note(ai.value === 'enabled' ? 'info' : 'warning', ai.remark);
  const end = new AbortController();
  if (run.end?.aborted === true) return EXIT.ok;
  run.end?.addEventListener('abort', () => end.abort(), { once: true });
  let code: ExitCode = EXIT.ok;
  const relay = createRelay(optionsOf(run, ai.value, () => end.abort()));
  const health = await openHealth(run, relay);
  const finish = (ended: ExitCode): void => {
    code = code === EXIT.ok ? ended : code;
    end.abort();
  };
  const forget = [
    onStopSignal((signal) => {
      log.note('info', `${signal}: stops when what is running has ended (again: at once)`);
      finish(EXIT.ok);
    }),
    onStrayError((error) => {
      log.note('error', `an error that nothing caught: ${errorText(error)}; the relay stops`);
      finish(EXIT.unexpected);
    }),
  ];
  try {
    await untilStopped(relay, end.signal);
    return code;
  } finally {
    for (const undo of forget) undo();
    await health?.close();
  }
}

async function openHealth({ health, db, schema, log }: RelayRun, relay: Relay): Promise<HealthServer | undefined> {
  if (health === undefined) return undefined;
  const gauges = createGaugeReader(db, schema);
  const server = await openHealthServer(health, { status: relay.status, gauges, pollMs: SAFETY_POLL_MS });
  log.note('info', `tells its health on http://${health.host}:${server.port}/ready`, { port: server.port });
  return server;
}

function optionsOf(run: RelayRun, aiActions: RelayOptions['aiActions'] & string, onStopped: () => void): RelayOptions {
  return {
    database: run.db,
    ...run.config,
    schema: run.schema,
    aiActions,
    lease: run.leaseMs,
    safetyPoll: SAFETY_POLL_MS,
    shutdownGrace: run.graceMs,
    softwareVersion: run.version,
    observer: (event) => {
      run.log.event(event);
      if (event.type === 'stopped') onStopped();
    },
    ...(run.environment === undefined ? {} : { environment: run.environment }),
    ...(run.endpoint === undefined ? {} : { endpoint: run.endpoint }),
    ...(run.listener === undefined ? {} : { listener: run.listener }),
  };
}

async function untilStopped(relay: Relay, end: AbortSignal): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    if (end.aborted) resolve();
    end.addEventListener('abort', () => resolve(), { once: true });
  });
  const started = relay.start();
  // Asked to stop during the start: stop() waits for it.
  await Promise.race([started, asked]);
  await asked;
  await relay.stop();
  await started;
}

function onStrayError(handle: (error: unknown) => void): () => void {
  process.on('uncaughtException', handle);
  process.on('unhandledRejection', handle);
  return () => {
    process.off('uncaughtException', handle);
    process.off('unhandledRejection', handle);
  };
}
