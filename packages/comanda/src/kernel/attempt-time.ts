import type { Clock } from './clock.js';

/** The time of one attempt. */
export interface AttemptTime {
  /** When the attempt began, in the clock's monotonic time. */
  readonly startedMs: number;
  /** Everything together: making what is sent, connecting, sending, the answer. */
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

/** What a stranger's function gives; `undefined` when the signal fires first: it can hang, and what it says later is dropped. */
export function unlessAborted<T>(signal: AbortSignal, run: () => T | Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    Promise.resolve()
      .then(run)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}
