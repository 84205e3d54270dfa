import { parseJsonLossless } from '../kernel/json-parse.js';
import type { Stop } from '../kernel/stop.js';
import type { Idempotency, PerformContext } from '../ports/effect-kind.js';
import type { ClaimedEffect, ClaimedLane } from './claimed-lane.js';

/** What a handler is told about its attempt. The signal is made when it is looked at. */
export function contextOf(
  lane: ClaimedLane,
  effect: ClaimedEffect,
  attempt: Stop,
  sendBy: number,
  idempotency: Idempotency = lane.kind.idempotency,
): PerformContext {
  const { row, payload } = effect;
  return {
    idempotencyKey: payload.idempotency_key,
    attempt: row.attempt,
    fence: lane.fence,
    payloadText: payload.payload,
    get signal() {
      return attempt.signal;
    },
    sendBy,
    timeoutMs: lane.kind.timeoutMs,
    subject: payload.subject,
    subjectVersion: payload.subject_version,
    idempotency,
    headers: headersOf(payload.headers),
  };
}

/** The payload as a value. Digits are kept: integers beyond 2^53 are bigint, decimals that a double cannot hold are raw JSON. */
export function inputOf(effect: ClaimedEffect): unknown {
  return parseJsonLossless(effect.payload.payload);
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Headers that were stored with an effect. */
export function headersOf(text: string | null): Readonly<Record<string, string>> {
  if (text === null) return NO_HEADERS;
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null) return {};
  return Object.fromEntries(
    Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
