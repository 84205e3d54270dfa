import type { Evidence } from '../ports/outcome.js';
import type { EffectReference } from '../ports/telemetry.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';
import { headersOf } from './context.js';

/** W3C Trace Context, level 1: version, trace id, parent id, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/** By which an effect of a lane is found again. */
export function referenceTo(lane: ClaimedLane, { row, payload }: ClaimedEffect): EffectReference {
  const [, traceId] = TRACEPARENT.exec(headersOf(payload.headers)['traceparent'] ?? '') ?? [];
  return {
    effectId: row.effect_id,
    decisionKey: payload.run_key,
    idempotencyKey: payload.idempotency_key,
    kind: row.kind,
    target: row.target,
    lane: lane.lane,
    attempt: row.attempt,
    fence: lane.fence,
    ...(traceId === undefined ? {} : { traceId }),
  };
}

/** The error of stored evidence. */
export function errorOf({ errorClass, errorText }: Evidence): Pick<Evidence, 'errorClass' | 'errorText'> {
  return {
    ...(errorClass === undefined ? {} : { errorClass }),
    ...(errorText === undefined ? {} : { errorText }),
  };
}
