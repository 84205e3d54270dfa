import type { Clock } from '../../kernel/clock.js';

/** The time of one attempt. */
export interface AttemptTime {
  /** When the attempt began, in the clock's monotonic time. */
  readonly startedMs: number;
  /** Making the request, connecting, headers and body together. */
  readonly timeoutMs: number;
  /** No first byte after this moment of the clock's monotonic time. */
  readonly sendByMs: number;
  readonly signal: AbortSignal;
}

const SLACK_MS = 250;

/**
 * Whether the attempt was stopped because its time is over, and not because the relay stops or lost the lease. The relay's
 * own timer began a moment before ours, so its signal usually comes first.
 */
export function ranOut({ startedMs, timeoutMs, signal }: AttemptTime, clock: Clock): boolean {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name === 'TimeoutError') return true;
  return clock.monotonicMs() - startedMs >= timeoutMs - Math.min(SLACK_MS, timeoutMs / 10);
}
