import { comandaError } from './comanda-error.js';
import { TIMER_MAX_MS } from './limits.js';

/** Milliseconds, or a number with a unit: `'250ms'`, `'20s'`, `'10m'`, `'72h'`, `'30d'`. */
export type Duration = number | string;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const TEXT = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/;

/** Bounds of {@link parseDuration}, in milliseconds, both inclusive. */
export interface DurationRange {
  /** Default: 1. */
  readonly minMs?: number;
  /** Default: 24 days, the longest that a timer can wait. */
  readonly maxMs?: number;
}

/**
 * Reads a duration as whole milliseconds.
 *
 * @param name what the duration is for, as the reader of the error knows it, e.g. `timeout`
 * @throws ComandaError COMANDA_INVALID_CONFIG naming the allowed range: an overflow never becomes an immediate expiry
 */
export function parseDuration(value: Duration, name: string, range: DurationRange = {}): number {
  const minMs = range.minMs ?? 1;
  const maxMs = range.maxMs ?? TIMER_MAX_MS;
  const ms = typeof value === 'number' ? value : fromText(value);
  if (ms === undefined || Number.isNaN(ms)) {
    throw invalid(`${name} is ${show(value)}, expected milliseconds or a text such as '20s', '10m' or '72h'`);
  }
  if (ms < minMs || ms > maxMs) {
    throw invalid(`${name} is ${show(value)}, allowed is ${formatDuration(minMs)} to ${formatDuration(maxMs)}`);
  }
  return Math.round(ms);
}

/** The shortest exact form: `20s`, `1500ms`, `24d`. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's']) {
    const size = UNIT_MS[unit] ?? 1;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
}

function fromText(text: unknown): number | undefined {
  const match = typeof text === 'string' ? TEXT.exec(text.trim()) : null;
  const size = UNIT_MS[match?.[2] ?? ''];
  return match === null || size === undefined ? undefined : Number(match[1]) * size;
}

function show(value: unknown): string {
  return typeof value === 'string'
    ? `'${value.slice(0, 40)}'`
    : typeof value === 'number'
      ? `${value} ms`
      : typeof value;
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
