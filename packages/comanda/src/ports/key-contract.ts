import { parseDuration } from '../kernel/durations.js';
import { comandaError } from '../kernel/errors.js';
import {
  KEY_LIFETIME_MAX_MS,
  KEY_LIFETIME_MS,
  KEY_MARGIN_MAX_MS,
  KEY_MARGIN_MIN_MS,
  KEY_MAX_BYTES,
} from '../kernel/limits.js';
import type { Idempotency, KeyContract, KeyProfile } from './idempotency.js';

/** What a kind says about repetition, completed. */
export interface Repetition {
  readonly idempotency: Idempotency;
  /** Present when `idempotency` is `key`. */
  readonly key?: KeyContract;
}

/**
 * Completes what a kind says about repetition.
 *
 * @param given a word, or a profile
 * @throws ComandaError COMANDA_INVALID_CONFIG when lifetime, margin or key length make no sense
 */
export function repetitionOf(given: Idempotency | KeyProfile): Repetition {
  if (given === 'natural' || given === 'none') return { idempotency: given };
  return { idempotency: 'key', key: keyContract(given === 'key' ? { mode: 'key' } : given) };
}

function keyContract(profile: KeyProfile): KeyContract {
  const lifetimeMs =
    profile.lifetime === 'forever'
      ? Number.POSITIVE_INFINITY
      : parseDuration(profile.lifetime ?? KEY_LIFETIME_MS, 'idempotency.lifetime', { maxMs: KEY_LIFETIME_MAX_MS });
  const usual = Math.min(Math.max(lifetimeMs / 5, KEY_MARGIN_MIN_MS), KEY_MARGIN_MAX_MS);
  const marginMs = parseDuration(profile.margin ?? usual, 'idempotency.margin', { maxMs: KEY_LIFETIME_MAX_MS });
  if (marginMs >= lifetimeMs) {
    throw comandaError('COMANDA_INVALID_CONFIG', {
      problem: `idempotency.margin is ${marginMs} ms and the key lives ${lifetimeMs} ms: nothing is left in which an attempt could be repeated`,
    });
  }
  const keyMaxBytes = profile.keyMaxBytes ?? KEY_MAX_BYTES;
  // A SHA-256 in hexadecimal has 64 characters; in base64url it has 43.
  if (!Number.isInteger(keyMaxBytes) || keyMaxBytes < 32) {
    throw comandaError('COMANDA_INVALID_CONFIG', {
      problem: `idempotency.keyMaxBytes is ${String(keyMaxBytes)}, expected a whole number from 32`,
    });
  }
  return {
    carrier: profile.carrier ?? { header: 'Idempotency-Key' },
    lifetimeMs,
    marginMs,
    keyMaxBytes,
    conflict: profile.conflict ?? 'in-progress',
    bodyMismatch: profile.bodyMismatch ?? 'refused',
    replays: profile.replays ?? 'any-status',
  };
}
