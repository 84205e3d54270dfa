import type { Dispatcher } from 'undici';
import { type AttemptTime, ranOut } from '../../kernel/attempt-time.js';
import type { Clock, Timer } from '../../kernel/clock.js';
import { describeThrown } from '../../kernel/describe-thrown.js';
import { ADDRESS_REFUSED } from './addresses.js';
import type { WireRequest } from './wire.js';

/** Bounds of one exchange. */
export interface ExchangeLimits extends AttemptTime {
  readonly maxResponseBytes: number;
  readonly clock: Clock;
}

/** Why there is no answer. */
export interface NoAnswer {
  readonly errorClass: string;
  readonly errorText: string;
}

/** What came of an exchange. The line between `notSent` and `noAnswer` is the moment in which the first byte is written. */
export type Exchange =
  | ({ readonly kind: 'addressRefused' | 'unusable' | 'released' | 'notSent' | 'noAnswer' } & NoAnswer)
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: Readonly<Record<string, string | string[] | undefined>>;
      readonly body: Buffer;
      /** Whether the whole body arrived. */
      readonly complete: boolean;
    };

const RELEASED: NoAnswer = { errorClass: 'aborted', errorText: 'stopped by the relay' };
const TOO_LATE: NoAnswer = { errorClass: 'send_by', errorText: 'the moment until which it could be sent has passed' };

/**
 * Sends one request and reads its answer within the limits. Never rejects.
 *
 * undici calls `onRequestStart` when the socket is connected and free, and writes the request in the same turn of the event
 * loop unless the handler aborts. That call is therefore the last look at the clock, and the line after which an outcome is
 * uncertain. It calls it a second time when it means to repeat a request; that is never allowed.
 */
export function exchange(dispatcher: Dispatcher, request: WireRequest, limits: ExchangeLimits): Promise<Exchange> {
  const { clock, signal, sendByMs, maxResponseBytes } = limits;
  const deadlineMs = limits.startedMs + limits.timeoutMs;

  return new Promise((resolve) => {
    let sent = false;
    let done = false;
    let controller: Dispatcher.DispatchController | undefined;
    let answer: { status: number; headers: Readonly<Record<string, string | string[] | undefined>> } | undefined;
    let chunks: Buffer[] = [];
    let received = 0;
    let timer: Timer | undefined;

    const settle = (result: Exchange): void => {
      if (done) return;
      done = true;
      timer?.cancel();
      signal.removeEventListener('abort', onAbort);
      chunks = [];
      resolve(result);
    };

    const settleAnswer = (complete: boolean): boolean => {
      if (answer === undefined) return false;
      settle({ kind: 'answer', ...answer, body: Buffer.concat(chunks), complete });
      return true;
    };

    /** Ends the exchange from our side; whatever the socket is doing ends with it. */
    const stop = (reason: NoAnswer, before: 'released' | 'notSent'): void => {
      if (!settleAnswer(false)) settle({ kind: sent ? 'noAnswer' : before, ...reason });
      controller?.abort(new Error(reason.errorText));
    };

    const timeout = (): void => {
      const missing = answer !== undefined ? 'whole answer' : sent ? 'answer' : 'connection';
      stop({ errorClass: 'timeout', errorText: `no ${missing} within ${limits.timeoutMs} ms` }, 'notSent');
    };

    const onAbort = (): void => (ranOut(limits, clock) ? timeout() : stop(RELEASED, 'released'));
    // Time that went by while connecting is the target's fault as far as anybody can tell, so the attempt counts.
    const tooLate = (): void => (ranOut(limits, clock) ? timeout() : stop(TOO_LATE, 'notSent'));

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        const now = clock.monotonicMs();
        if (!done && !sent && now > sendByMs) tooLate();
        if (done || sent) {
          started.abort(new Error('not sent'));
          return;
        }
        sent = true;
        controller = started;
        timer?.cancel();
        timer = clock.after(deadlineMs - now, timeout);
      },
      onResponseStart(_, status, headers) {
        if (status >= 200) answer = { status, headers };
      },
      onResponseData(_, chunk) {
        if (done) return;
        const room = maxResponseBytes - received;
        chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
        received += chunk.length;
        if (chunk.length > room) stop({ errorClass: 'too_long', errorText: 'the answer is too long' }, 'notSent');
      },
      onResponseEnd() {
        settleAnswer(true);
      },
      onResponseError(_, error) {
        if (done || settleAnswer(false)) return;
        settle({ kind: kindOf(error, sent), ...describe(error) });
      },
    };

    if (signal.aborted) return onAbort();
    const now = clock.monotonicMs();
    if (now > sendByMs) return ranOut(limits, clock) ? timeout() : stop(TOO_LATE, 'released');
    signal.addEventListener('abort', onAbort, { once: true });
    timer = deadlineMs <= sendByMs ? clock.after(deadlineMs - now, timeout) : clock.after(sendByMs - now, tooLate);
    const { origin, path, method, headers, body } = request;
    dispatcher.dispatch({ origin, path, method, headers: [...headers], body }, handler);
  });
}

const CLASSES: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  UND_ERR_SOCKET: 'connection_closed',
  UND_ERR_HEADERS_OVERFLOW: 'protocol_error',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol_error',
};

function describe(error: unknown): NoAnswer {
  const { errorClass, errorText } = describeThrown(error);
  return {
    errorClass: CLASSES[errorClass] ?? (errorClass.startsWith('HPE_') ? 'protocol_error' : errorClass),
    errorText,
  };
}

function kindOf(error: unknown, sent: boolean): 'addressRefused' | 'unusable' | 'notSent' | 'noAnswer' {
  if (sent) return 'noAnswer';
  const { errorClass } = describeThrown(error);
  if (errorClass === ADDRESS_REFUSED) return 'addressRefused';
  return errorClass === 'UND_ERR_CLOSED' || errorClass === 'UND_ERR_DESTROYED' ? 'unusable' : 'notSent';
}
