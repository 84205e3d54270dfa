import { type AttemptTime, ranOut, unlessAborted } from '../../kernel/attempt-time.js';
import { describeThrown } from '../../kernel/describe-thrown.js';
import { STORED_ERROR_MAX_BYTES } from '../../kernel/limits.js';
import { redactText, valuesAt } from '../../kernel/redact.js';
import type { PerformContext } from '../../ports/effect-kind.js';
import type { Evidence } from '../../ports/outcome.js';
import type { NoAnswer } from './exchange.js';
import { type Hidden, toResponse } from './response.js';
import type { HttpTransport } from './transport.js';
import type { HttpEffect, HttpRequestSource, HttpResponse } from './types.js';
import { isUnfit } from './unfit.js';
import { type WireOptions, type WireRequest, wireRequest } from './wire.js';

/** What came of making and sending a request. */
export type Sent =
  | {
      readonly type: 'addressRefused' | 'notMade' | 'unfit' | 'unusable' | 'released' | 'notSent' | 'noAnswer';
      readonly evidence: Evidence;
    }
  | { readonly type: 'answer'; readonly response: HttpResponse; readonly hidden: Hidden };

/** What a request needs besides its source. */
export interface RunOptions extends WireOptions {
  readonly transport: HttpTransport;
  readonly fresh: boolean;
  readonly redact: readonly string[];
  /** Values that are masked wherever they turn up, besides those of the request itself. */
  readonly secrets: readonly string[];
}

const STOPPED: Sent = { type: 'released', evidence: { errorClass: 'aborted', errorText: 'stopped by the relay' } };
const NOT_MADE_IN_TIME: Sent = {
  type: 'notMade',
  evidence: { errorClass: 'timeout', errorText: 'the function that makes the request did not end in time' },
};

/** Makes the request from the effect and sends it. Never rejects. */
export async function runRequest<Input>(
  source: HttpRequestSource<Input>,
  effect: HttpEffect<Input>,
  context: PerformContext,
  options: RunOptions,
): Promise<Sent> {
  // Values of redacted paths hide wherever they turn up, also in error texts.
  const payloadSecrets = options.redact.length === 0 ? [] : valuesAt(effect.payloadText, options.redact);
  const { clock } = options.transport;
  const { signal, sendBy: sendByMs, timeoutMs } = context;
  const time: AttemptTime = { startedMs: clock.monotonicMs(), timeoutMs, sendByMs, signal };
  let wire: WireRequest;
  try {
    const request = typeof source === 'function' ? await unlessAborted(signal, () => source(effect)) : source;
    if (request === undefined) return ranOut(time, clock) ? NOT_MADE_IN_TIME : STOPPED;
    wire = wireRequest(request, context, options);
  } catch (thrown) {
    const { errorText } = describeThrown(thrown);
    const secrets = [...payloadSecrets, ...options.secrets];
    if (isUnfit(thrown)) return { type: 'unfit', evidence: hide({ errorClass: 'validation', errorText }, secrets) };
    return { type: 'notMade', evidence: hide({ errorClass: 'request_not_made', errorText }, secrets) };
  }
  const secrets = [...payloadSecrets, ...options.secrets, ...wire.secrets];
  const result = await options.transport.exchange(wire, { ...time, fresh: options.fresh });
  if (result.kind === 'answer') {
    return { type: 'answer', response: toResponse(result), hidden: { paths: options.redact, secrets } };
  }
  return { type: result.kind, evidence: hide(result, secrets) };
}

/** An error as evidence: its class and its text, without what must not be stored. */
export function hide({ errorClass, errorText }: NoAnswer, secrets: readonly string[]): Evidence {
  return { errorClass, errorText: redactText(errorText, { secrets, maxBytes: STORED_ERROR_MAX_BYTES }) };
}
