import type { Clock } from '../kernel/clock.js';
import { sqlstateOf } from '../kernel/errors.js';
import type { RelayEvent } from '../ports/telemetry.js';

/** What a relay says about itself: why it holds, once; and what fails again and again, now and then. */
export interface Holding {
  /** Why nothing, or less than usual, leaves; null while it works. */
  readonly reason: string | null;
  /** A heartbeat was answered: the server can be written to, and this is what stands in the way; null = nothing. */
  heard(reason: string | null): void;
  /** Passes an event on. Failures of a read-only server become one `held`; other failures of one sort are told at most every ten seconds. */
  tell(event: RelayEvent): void;
}

const READ_ONLY = '25006';
const AGAIN_MS = 10_000;
const MAX_SORTS = 100;

/** Whether a statement failed because the server, or the role, only reads. */
export function isReadOnly(error: unknown): boolean {
  return sqlstateOf(error) === READ_ONLY;
}

export function createHolding(emit: (event: RelayEvent) => void, clock: Clock): Holding {
  let reason: string | null = null;
  const told = new Map<string, { at: number; left: number }>();
  const hold = (next: string | null): void => {
    if (next === reason) return;
    reason = next;
    emit(next === null ? { type: 'resumed' } : { type: 'held', reason: next });
  };
  return {
    get reason() {
      return reason;
    },
    heard: hold,
    tell(event) {
      if (event.type !== 'warning' || event.error === undefined) {
        emit(event);
        return;
      }
      if (isReadOnly(event.error)) {
        hold(
          'the server is read-only: a standby, or default_transaction_read_only is on. Nothing is claimed and nothing is sent; it goes on by itself when it can write again',
        );
        return;
      }
      const sort = `${event.code} ${sqlstateOf(event.error) ?? ''}`;
      const now = clock.monotonicMs();
      const before = told.get(sort);
      if (before !== undefined && now < before.at + AGAIN_MS) {
        before.left += 1;
        return;
      }
      if (told.size >= MAX_SORTS) told.clear();
      told.set(sort, { at: now, left: 0 });
      const left = before?.left ?? 0;
      emit(
        left === 0 ? event : { ...event, message: `${event.message} (and ${left} more times since it was last said)` },
      );
    },
  };
}
