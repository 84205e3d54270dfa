import { didYouMean } from '../kernel/did-you-mean.js';
import { type Duration, parseDuration } from '../kernel/durations.js';
import { comandaError } from '../kernel/errors.js';
import type { Registry } from './registry.js';

/** How much a target may be given, by all relays of the database together. A person can set other limits in the database; those win. */
export interface TargetLimits {
  /** Effects a second, 0.001 to 100000. Default: no limit. */
  readonly ratePerSecond?: number;
  /** Effects at the same time, 1 to 10000. Default: no limit. */
  readonly concurrency?: number;
}

/** When the breaker of a target opens, and for how long. The same for every target of a relay. */
export interface BreakerOptions {
  /** Failures in a row of one target in one relay (no connection, no answer, 5xx), without a success between them. Default 10. */
  readonly failures?: number;
  /** How long it stays open before the first probe; doubled by each probe that fails. Default 1 s after failures, 10 s when the target refuses our credentials. */
  readonly openFor?: Duration;
  /** How long at most. Default 1 min after failures, 10 min after a refusal. */
  readonly openAtMost?: Duration;
}

/** Times of one way to open, in milliseconds. */
export interface Opening {
  readonly openMs: number;
  readonly openMaxMs: number;
}

/** {@link BreakerOptions} with its defaults. */
export interface Breaker {
  readonly failures: number;
  readonly down: Opening;
  readonly refused: Opening;
}

const FAILURES = 10;
const DOWN: Opening = { openMs: 1_000, openMaxMs: 60_000 };
/** Somebody has to act before it can be better. */
const REFUSED: Opening = { openMs: 10_000, openMaxMs: 600_000 };
const HOUR_MS = 3_600_000;
const NAMES = ['ratePerSecond', 'concurrency'] as const;

/**
 * Checks the limits of a configuration.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG that names the target and what is allowed
 */
export function checkLimits(
  limits: Readonly<Record<string, TargetLimits>>,
  registry: Registry,
): ReadonlyMap<string, TargetLimits> {
  const targets = [...new Set([...registry.values()].map((kind) => kind.target))];
  if (!isObject(limits)) throw invalid('targets is no object; write targets: { payments: { ratePerSecond: 50 } }');
  for (const [target, limit] of Object.entries<unknown>(limits)) {
    if (!targets.includes(target))
      throw invalid(`targets.${target}: no effect has this target${meant(target, targets)}`);
    if (!isObject(limit)) throw invalid(`targets.${target} is no object; write { ratePerSecond: 50, concurrency: 20 }`);
    for (const name of Object.keys(limit)) {
      if (!NAMES.some((known) => known === name))
        throw invalid(`targets.${target} has an unknown property ${name}${meant(name, NAMES)}`);
    }
    const { ratePerSecond, concurrency } = limit;
    if (ratePerSecond === undefined && concurrency === undefined)
      throw invalid(`targets.${target} sets no limit; say ratePerSecond, concurrency or both`);
    if (ratePerSecond !== undefined && !within(ratePerSecond, 0.001, 100_000))
      throw invalid(
        `targets.${target}.ratePerSecond is ${show(ratePerSecond)}, allowed are numbers from 0.001 to 100000`,
      );
    if (concurrency !== undefined && !(within(concurrency, 1, 10_000) && Number.isInteger(concurrency)))
      throw invalid(`targets.${target}.concurrency is ${show(concurrency)}, allowed are whole numbers from 1 to 10000`);
  }
  return new Map(Object.entries(limits));
}

/** @throws ComandaError COMANDA_INVALID_CONFIG */
export function breakerOf({ failures = FAILURES, openFor, openAtMost }: BreakerOptions): Breaker {
  if (!within(failures, 1, 10_000) || !Number.isInteger(failures))
    throw invalid(`breaker.failures is ${show(failures)}, allowed are whole numbers from 1 to 10000`);
  const opening = (preset: Opening): Opening => {
    const range = { minMs: 10, maxMs: HOUR_MS };
    const openMs = parseDuration(openFor ?? preset.openMs, 'breaker.openFor', range);
    const openMaxMs = parseDuration(openAtMost ?? Math.max(preset.openMaxMs, openMs), 'breaker.openAtMost', range);
    return { openMs, openMaxMs: Math.max(openMs, openMaxMs) };
  };
  return { failures, down: opening(DOWN), refused: opening(REFUSED) };
}

function within(value: unknown, min: number, max: number): boolean {
  return typeof value === 'number' && value >= min && value <= max;
}

function meant(name: string, known: readonly string[]): string {
  const near = didYouMean(name, known);
  return near === undefined ? `; there is ${known.join(', ')}` : `; did you mean ${near}?`;
}

function show(value: unknown): string {
  return typeof value === 'number'
    ? String(value)
    : typeof value === 'string'
      ? `'${value.slice(0, 40)}'`
      : typeof value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
