import { parseHttpDate } from '../../kernel/clock.js';
import { RETRY_AFTER_MAX_MS } from '../../kernel/limits.js';

/** "At once" from a provider that just refused us still means a moment. */
const RETRY_AFTER_MIN_MS = 1_000;

/**
 * Milliseconds to wait by a Retry-After header: seconds, or an HTTP-date counted from the answer's own Date header when it
 * has one, so that a provider's wrong clock does no harm. At least 1 s, at most 1 h; `undefined` for nonsense.
 *
 * @param nowMs wall clock, used when there is no usable Date header
 */
export function parseRetryAfter(
  value: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | undefined {
  const text = value?.trim() ?? '';
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : untilDate(text, date?.trim() ?? '', nowMs);
  return ms === undefined ? undefined : Math.min(Math.max(ms, RETRY_AFTER_MIN_MS), RETRY_AFTER_MAX_MS);
}

function untilDate(text: string, date: string, nowMs: number): number | undefined {
  const until = parseHttpDate(text);
  return until === undefined ? undefined : until - (parseHttpDate(date) ?? nowMs);
}
