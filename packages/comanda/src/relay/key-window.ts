import { retryDelayMs } from '../kernel/backoff.js';
import type { EffectKind } from '../ports/effect-kind.js';
import type { KeyContract } from '../ports/idempotency.js';
import { repetitionOf } from '../ports/key-contract.js';

/**
 * How long after an effect's first claim its key is trusted: lifetime − margin. Later, the target may have forgotten the key, so that an attempt is one to a
 * target without keys. `undefined` for kinds without keys, and where the target never forgets.
 */
export function keyWindowMs(kind: EffectKind): number | undefined {
  const key = contractOf(kind);
  return key === undefined || key.lifetimeMs === Number.POSITIVE_INFINITY ? undefined : key.lifetimeMs - key.marginMs;
}

/** The key contract of a `key` kind; that of the word `key` when it names none. */
export function contractOf(kind: EffectKind): KeyContract | undefined {
  if (kind.idempotency !== 'key') return undefined;
  return kind.key ?? repetitionOf('key').key;
}

/**
 * What is unsafe about a kind's key in a relay with this lease; `undefined` when nothing is. Two comparisons that are easily forgotten:
 * a request can be under way for lease + timeout after it was allowed, and retries can go on for longer than the key lives.
 */
export function keyProblem(kind: EffectKind, leaseMs: number): string | undefined {
  const key = contractOf(kind);
  const windowMs = keyWindowMs(kind);
  if (key === undefined || windowMs === undefined) return undefined;
  const underWayMs = leaseMs + kind.timeoutMs;
  if (key.marginMs <= underWayMs) {
    return `the margin of its key is ${key.marginMs} ms, not longer than lease + timeout (${underWayMs} ms): a request could arrive after the key was forgotten`;
  }
  const horizonMs = retryHorizonMs(kind);
  if (horizonMs > windowMs && kind.reconcile === undefined && kind.onUnknown !== 'ask-human') {
    return `its retries can take ${horizonMs} ms and its key is trusted for ${windowMs} ms (lifetime - margin): nothing says what to do with an attempt after that`;
  }
  return undefined;
}

/** The longest time from the first attempt to the last, when the target asks for no more patience. */
function retryHorizonMs(kind: EffectKind): number {
  let sum = 0;
  for (let attempt = 1; attempt < kind.maxAttempts; attempt++) {
    sum += kind.timeoutMs + retryDelayMs(attempt, { baseMs: kind.backoffBaseMs, maxMs: kind.backoffMaxMs }, 1);
  }
  return sum;
}
