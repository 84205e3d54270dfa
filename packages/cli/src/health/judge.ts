import type { RelayStatus } from 'comanda/relay';

/** How a relay is, for whoever asks over HTTP. */
export interface Health {
  readonly ok: boolean;
  readonly state: RelayStatus['state'];
  /** Why it is not well; empty when it is. */
  readonly reasons: readonly string[];
  readonly sinceLastPollMs: number;
  readonly sinceLastBeatMs: number;
  readonly sinceLastEndMs: number;
  readonly listening: boolean;
  readonly switchVersion: string;
  readonly holds: string | null;
  readonly lanesRunning: number;
  /** Age of the oldest work that could be taken, over all relays; `null` when it is not known. What no live relay can execute does not count. */
  readonly oldestDueAgeMs: number | null;
}

const SILENT_MIN_MS = 10_000;
const SILENT_POLLS = 3;
const BEAT_SILENT_MS = 10_000;
/** More than three times the timeout of an effect, unless it says otherwise. */
const STUCK_MS = 90_000;

/**
 * Judges a relay: red when nothing moves. Switched off on purpose is red too, because nothing moves, and says so; whether the
 * process works is another question ({@link isAlive}).
 *
 * @param pollMs how often it looks when nothing wakes it
 */
export function judge(status: RelayStatus, pollMs: number, oldestDueAgeMs: number | null): Health {
  const { state, sinceLastPollMs, sinceLastBeatMs, sinceLastEndMs, holds } = status;
  const running = state === 'running';
  const silentMs = Math.max(SILENT_MIN_MS, SILENT_POLLS * pollMs);
  const reasons = [
    ...(running
      ? []
      : [state === 'stopping' || state === 'stopped' ? `the relay is ${state}` : 'the relay is starting']),
    ...(running && sinceLastPollMs > silentMs
      ? [`no successful look at the database for ${seconds(sinceLastPollMs)}`]
      : []),
    ...(running && sinceLastBeatMs > BEAT_SILENT_MS
      ? [`no heartbeat in the database for ${seconds(sinceLastBeatMs)}`]
      : []),
    ...(running && holds === null && (oldestDueAgeMs ?? 0) > STUCK_MS && sinceLastEndMs > STUCK_MS
      ? [
          `work has been due for ${seconds(oldestDueAgeMs ?? 0)} and nothing came to an end here for ${seconds(sinceLastEndMs)}`,
        ]
      : []),
    ...(running && holds !== null ? [`it executes nothing: ${holds}`] : []),
  ];
  return {
    ok: reasons.length === 0,
    state,
    reasons,
    sinceLastPollMs,
    sinceLastBeatMs,
    sinceLastEndMs,
    listening: status.listening,
    switchVersion: status.switchVersion,
    holds,
    lanesRunning: status.lanes,
    oldestDueAgeMs,
  };
}

/** Whether the process works: an orchestrator that restarts it for anything else would make an outage worse. */
export function isAlive({ state }: RelayStatus): boolean {
  return state !== 'stopped';
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1_000)} s`;
}
