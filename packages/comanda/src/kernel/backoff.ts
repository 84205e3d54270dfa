/** How long to wait between attempts. Milliseconds. */
export interface Backoff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * The longest wait after attempt number `attempt` (1 = the first): base doubled for each further attempt, up to the maximum.
 */
export function backoffCeilingMs(attempt: number, { baseMs, maxMs }: Backoff): number {
  // Exponents are bounded so that a huge attempt number stays finite.
  const doublings = Math.min(Math.max(Math.trunc(attempt) - 1, 0), 60);
  return Math.min(maxMs, baseMs * 2 ** doublings);
}

/**
 * The wait before the next attempt, with full jitter: uniformly random in [0, ceiling], so that many effects that failed
 * in the same moment do not come back in the same moment. With `atLeastMs` (a provider's Retry-After) the jitter only
 * adds: [atLeast, atLeast + ceiling].
 *
 * @param random a number in [0, 1)
 */
export function retryDelayMs(attempt: number, backoff: Backoff, random: number, atLeastMs = 0): number {
  return Math.round(Math.max(atLeastMs, 0) + random * backoffCeilingMs(attempt, backoff));
}
