import type { Clock } from '../kernel/clock.js';
import type { Random } from '../kernel/ids.js';
import type { Engine, Floor } from '../outbox/engine.js';
import type { RelayEvent } from '../ports/telemetry.js';
import type { Registry } from './registry.js';

/** What every part of one running relay shares. */
export interface RelayEnvironment {
  readonly id: string;
  readonly engine: Engine;
  readonly registry: Registry;
  readonly leaseMs: number;
  readonly leaseMaxLifeMs: number;
  readonly batch: number;
  readonly floor: Floor;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: (event: RelayEvent) => void;
  /** Fires when the relay no longer waits for a database that does not answer: its shutdown is over. */
  readonly givenUp: AbortSignal;
}

/** Part of the lease that must be left when bytes leave: no request may start so late that its bytes travel after the lease has ended. */
export function sendMarginMs(leaseMs: number): number {
  return Math.min(1_000, leaseMs / 5);
}
