import type { Clock } from '../kernel/clock.js';
import { createTargetQueue, type TargetQueue } from './target-queue.js';

/** What has been learned about a target and not been told to the database yet. */
export interface Findings {
  ok?: boolean;
  broke?: {
    readonly reason: string;
    readonly probe: boolean;
    readonly openMs: number;
    readonly openMaxMs: number;
  };
  /** By the monotonic clock. */
  pausedUntil?: number;
  pauseReason?: string;
}

/** One destination, as this relay sees it. Moments are of the monotonic clock. */
export interface Target {
  readonly name: string;
  readonly kinds: readonly string[];
  readonly queue: TargetQueue;
  /** Lanes of it that this relay works on. */
  held: number;
  breaker: 'closed' | 'open' | 'half_open';
  /** Paused, or its breaker not closed: nothing is sent before. */
  closedUntil: number;
  /** Something of this process is broken: it leaves the target to others until then. */
  awayUntil: number;
  /** Until when this relay holds the one probe. */
  probeUntil: number;
  /** Not asked for the probe again before: the last one found no work. */
  probeAfter: number;
  /** In a row, without a success between them. */
  failures: number;
  /** When its breaker closed: from then on it is given twice as much each half second, not everything at once. */
  closedAt: number;
  findings: Findings | undefined;
}

const RAMP_MS = 500;
/** Lanes that wait for their turn at a paced target, in seconds of its pace. */
const WAITING_S = 1.5;

export function createTarget(clock: Clock, name: string, kinds: readonly string[]): Target {
  const never = Number.NEGATIVE_INFINITY;
  return {
    name,
    kinds,
    queue: createTargetQueue(clock),
    held: 0,
    breaker: 'closed',
    closedUntil: never,
    awayUntil: never,
    probeUntil: never,
    probeAfter: never,
    failures: 0,
    closedAt: never,
    findings: undefined,
  };
}

/** Whether nothing may be sent to it now; the probe of this relay may. */
export function isClosed(target: Target, now: number): boolean {
  if (target.awayUntil > now) return true;
  return target.breaker === 'closed' ? target.closedUntil > now : target.probeUntil <= now;
}

/** Milliseconds until it is worth another look. */
export function closedMs(target: Target, now: number): number {
  return Math.max(target.closedUntil, target.awayUntil, now) - now;
}

/** Lanes of the target that may be taken now, in all. */
export function placesOf(target: Target, now: number): number {
  if (isClosed(target, now)) return 0;
  if (target.breaker !== 'closed') return Math.max(1 - target.held, 0);
  const ramp = 2 ** Math.min((now - target.closedAt) / RAMP_MS, 20) - target.held;
  const share = target.queue.current;
  if (share === undefined) return Math.max(Math.floor(ramp), 0);
  if (share.until <= now || share.rate === 0) return 0;
  const slots = share.slots === undefined ? ramp : share.slots - target.held;
  const paced =
    share.rate === undefined ? slots : Math.ceil(share.rate * WAITING_S) + 1 - (target.held - target.queue.inFlight);
  return Math.max(Math.floor(Math.min(ramp, slots, paced)), 0);
}
