/**
 * Every default and bound of the product, named with its unit. What is a default can be set per effect kind or relay;
 * what is a bound cannot.
 */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const KIB = 1_024;

// Leases
export const LEASE_MS = 30 * SECOND_MS;
/** A lease is not renewed beyond this life, so that a stuck handler cannot hold a lane for ever. */
export const LEASE_MAX_LIFE_MS = 15 * MINUTE_MS;

// Attempts
export const EFFECT_TIMEOUT_MS = 20 * SECOND_MS;
export const MAX_ATTEMPTS = 8;
export const BACKOFF_BASE_MS = SECOND_MS;
export const BACKOFF_MAX_MS = 10 * MINUTE_MS;
/** Starts of one effect that ended with the death of the process, after which the effect is quarantined. */
export const WORKER_LOST_MAX = 3;
/** Effects of one kind that one relay executes at the same time, unless the kind says otherwise. */
export const KIND_CONCURRENCY = 16;

// Relay rhythm
export const SAFETY_POLL_MS = SECOND_MS;
export const BUSY_POLL_MS = 5;
export const SETTLE_BATCH_MAX_ITEMS = 100;
/** Lanes of one settle at most, when more came while the one before was under way. */
export const SETTLE_BUSY_BATCH_MAX_ITEMS = 500;
export const SETTLE_BATCH_MAX_WAIT_MS = 5;
export const SHUTDOWN_GRACE_MS = 30 * SECOND_MS;
/** How often a relay checks that its LISTEN connection still hears itself. */
export const LISTEN_CHECK_MS = 10 * SECOND_MS;
/** How long the notification of such a check may take. */
export const LISTEN_CHECK_TIMEOUT_MS = 3 * SECOND_MS;
/** First wait before a lost LISTEN connection is made again; doubled up to the maximum. Each wait lasts one to two times this. */
export const LISTEN_RECONNECT_BASE_MS = 250;
export const LISTEN_RECONNECT_MAX_MS = 15 * SECOND_MS;
/** How often LISTEN is tried again where notifications do not arrive, as behind a transaction pooler. */
export const LISTEN_RETRY_DEAF_MS = 5 * MINUTE_MS;

// Idempotency keys
/** How long a target remembers a key unless its profile says otherwise: what most providers document. */
export const KEY_LIFETIME_MS = DAY_MS;
export const KEY_LIFETIME_MAX_MS = 3_650 * DAY_MS;
export const KEY_MARGIN_MIN_MS = 2 * MINUTE_MS;
export const KEY_MARGIN_MAX_MS = 30 * MINUTE_MS;
export const KEY_MAX_BYTES = 255;

// Sizes
export const STORED_RESPONSE_MAX_BYTES = 64 * KIB;
export const STORED_ERROR_MAX_BYTES = 4 * KIB;
/** Where reading a provider's answer stops and the connection is dropped. */
export const HTTP_RESPONSE_READ_MAX_BYTES = 1_024 * KIB;
/** Payloads of one lane that a relay reads together: a claim counts effects, memory counts bytes. The head is read whatever its size. */
export const LANE_PAYLOADS_MAX_BYTES = 1_024 * KIB;
export const DECISIONS_PER_CALL_MAX = 10_000;

// JSON
/** Nesting that PostgreSQL parses with its default stack on every platform. */
export const JSON_MAX_DEPTH = 500;
/** Bound of a number's digits and of its decimal exponent: `1e100000` would fill the payload limit by itself. */
export const JSON_NUMBER_MAX_DIGITS = 1_000;

// Waiting for a target
/** A provider's Retry-After is followed up to here. */
export const RETRY_AFTER_MAX_MS = HOUR_MS;
/** How long a relay leaves a target to others when its own process cannot send at all; somebody has to act before it can be better. */
export const UNUSABLE_PAUSE_MS = MINUTE_MS;
export const CONNECT_TIMEOUT_MS = 10 * SECOND_MS;

// Retention
export const KEY_RETENTION_MS = 400 * DAY_MS;

/** Node's timers count in signed 32-bit milliseconds, 24.8 days; longer ones fire at once. */
export const TIMER_MAX_MS = 24 * DAY_MS;
