import { SCHEMA_VERSION } from '../schema/version.js';
import type { RelayEnvironment } from './environment.js';

/** What the last heartbeat said about the switch. */
export interface SwitchView {
  readonly version: string;
  readonly mode: string | null;
  readonly stopped: readonly string[];
  /** Why this is not the installation that was adopted; null when it is. */
  readonly holds: string | null;
}

/** Beats often enough that `switch --wait` and `attention` can trust it. */
export const BEAT_MS = 1_000;

/** Says that this relay lives and which switch version it obeys; learns the switch. */
export async function beat(
  env: RelayEnvironment,
  softwareVersion: string,
  switchVersion: string,
  stopping: boolean,
): Promise<SwitchView> {
  const answer = await env.engine.beat({
    relay: env.id,
    kinds: [...env.registry.keys()],
    softwareVersion,
    schemaVersion: SCHEMA_VERSION,
    switchVersion,
    stopping,
  });
  return { version: answer.switch_version ?? '0', mode: answer.all_mode, stopped: answer.stopped, holds: answer.holds };
}

/** Runs one job after the other, each at its own rhythm, until stopped. A failing job is reported and tried again. */
export function every(env: RelayEnvironment, ms: number, name: string, job: () => Promise<unknown>): { stop(): void } {
  let stopped = false;
  const trouble = createTrouble(env, `${name}_failed`, `${name} could not be done; it is tried again`);
  const run = async (): Promise<void> => {
    if (stopped) return;
    try {
      await job();
      trouble.over();
    } catch (error) {
      trouble.again(error);
    }
    // Jittered, so that relays started together do not stay together.
    if (!stopped) timer = env.clock.after(ms * (0.8 + env.random() * 0.4), () => void run());
  };
  let timer = env.clock.after(ms * env.random(), () => void run());
  return {
    stop: () => {
      stopped = true;
      timer.cancel();
    },
  };
}

/** Something that fails again and again and then no longer does: warns at each failure, and says when it is over. */
export function createTrouble(
  env: Pick<RelayEnvironment, 'clock' | 'emit'>,
  code: string,
  message: string,
): { again(error: unknown): number; over(): void } {
  let times = 0;
  let sinceMs = 0;
  return {
    again: (error) => {
      if (times === 0) sinceMs = env.clock.monotonicMs();
      times += 1;
      env.emit({ type: 'warning', code, message, error });
      return times;
    },
    over: () => {
      if (times === 0) return;
      env.emit({ type: 'recovered', code, times, ms: Math.round(env.clock.monotonicMs() - sinceMs) });
      times = 0;
    },
  };
}
