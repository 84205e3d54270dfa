import { TIMER_MAX_MS } from './limits.js';

/** A timer that has been started. */
export interface Timer {
  /** Stops it; does nothing when it has fired or been stopped. */
  cancel(): void;
}

/**
 * Time as a parameter. Times that decide something (leases, order, expiry) come from the database;
 * this clock is for waiting and for measuring.
 */
export interface Clock {
  /** Milliseconds since 1970 by the host's wall clock, which can jump. */
  wallMs(): number;
  /** Milliseconds of a clock that never goes back: `performance.now()`. */
  monotonicMs(): number;
  /** Runs `fire` once after `ms` (at most 24 days; longer is cut, never overflows to zero). */
  after(ms: number, fire: () => void): Timer;
  /** Waits; ends early when the signal fires. Resolves to whether the whole time passed. */
  sleep(ms: number, signal?: AbortSignal): Promise<boolean>;
}

/** The host's clock. The only place in the product that reads time or starts timers. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, fire) {
    const handle = setTimeout(fire, Math.min(Math.max(ms, 0), TIMER_MAX_MS));
    return { cancel: () => clearTimeout(handle) };
  },
  sleep(ms, signal) {
    return sleepOn(systemClock, ms, signal);
  },
};

/** `sleep` in terms of `after`; shared by clocks. */
export function sleepOn(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted === true) return Promise.resolve(false);
  return new Promise((resolve) => {
    const stop = (): void => {
      timer.cancel();
      resolve(false);
    };
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', stop);
      resolve(true);
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;
const HTTP_DATE = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2}(?:\d{2})? \d{2}:\d{2}:\d{2} GMT$/;

/** Milliseconds since 1970 of an HTTP-date in any of its three forms (RFC 9110, 5.6.7); `undefined` for everything else. */
export function parseHttpDate(text: string): number | undefined {
  // The asctime form has no zone and means GMT; Date.parse would take it as local time.
  const explicit = ASCTIME.test(text) ? `${text} GMT` : HTTP_DATE.test(text) ? text : undefined;
  const ms = explicit === undefined ? Number.NaN : Date.parse(explicit);
  return Number.isNaN(ms) ? undefined : ms;
}
