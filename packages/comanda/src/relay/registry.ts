import { comandaError } from '../kernel/errors.js';
import { type EffectDefinition, kindOf } from '../ports/effect-definition.js';
import type { EffectKind } from '../ports/effect-kind.js';
import { contractOf, keyProblem } from './key-window.js';

/** The kinds that a relay can execute, by name. */
export type Registry = ReadonlyMap<string, EffectKind>;

/**
 * Checks what a deployment wants to execute.
 *
 * @throws ComandaError COMANDA_UNSAFE_EFFECT for kinds whose unknown outcomes would have no way out, COMANDA_INVALID_CONFIG for anything else
 */
export function createRegistry(effects: readonly (EffectKind | EffectDefinition<never>)[], leaseMs: number): Registry {
  const registry = new Map<string, EffectKind>();
  for (const effect of effects) {
    const kind = kindOf(effect);
    check(kind, leaseMs);
    if (registry.has(kind.kind)) throw invalid(`the kind "${kind.kind}" is defined twice`);
    registry.set(kind.kind, kind);
  }
  return registry;
}

/** What is published to the database, so that decide() and people know the kind's contract. */
export function published(kind: EffectKind): Record<string, unknown> {
  const { version, target, risk, idempotency, onUnknown, maxAttempts, timeoutMs, redact, stale, maxAgeMs } = kind;
  // JSON has no Infinity: a lifetime without end is null.
  const contract = { ...(idempotency === 'key' ? { key: contractOf(kind) } : {}), stale, maxAgeMs };
  return { kind: kind.kind, version, target, risk, idempotency, onUnknown, maxAttempts, timeoutMs, redact, contract };
}

function check(kind: EffectKind, leaseMs: number): void {
  const bytes = Buffer.byteLength(kind.kind);
  if (bytes === 0 || bytes > 128) throw invalid(`the kind "${kind.kind}" has ${bytes} bytes, allowed are 1 to 128`);
  for (const name of [kind.kind, kind.target]) {
    if (/\0|\p{Cs}/u.test(name))
      throw invalid(`${JSON.stringify(name)} holds a NUL or half of a surrogate pair, which PostgreSQL cannot store`);
  }
  whole(kind.maxAttempts, `${kind.kind}: retry.maxAttempts`, 1, 1_000);
  whole(kind.concurrency, `${kind.kind}: concurrency`, 1, 10_000);
  whole(kind.version, `${kind.kind}: version`, 1, 999_999_999);
  if (kind.idempotency === 'none' && kind.reconcile === undefined && kind.onUnknown !== 'ask-human') {
    throw comandaError('COMANDA_UNSAFE_EFFECT', {
      kind: kind.kind,
      problem: 'its target recognises no repeated request, and nothing says what to do when an outcome is unknown',
    });
  }
  const problem = keyProblem(kind, leaseMs);
  if (problem !== undefined) throw comandaError('COMANDA_UNSAFE_EFFECT', { kind: kind.kind, problem });
}

function whole(value: number, name: string, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max)
    throw invalid(`${name} is ${value}, allowed are whole numbers from ${min} to ${max}`);
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
