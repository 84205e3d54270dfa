import { UNUSABLE_PAUSE_MS } from '../../kernel/limits.js';
import type { Idempotency } from '../../ports/effect-kind.js';
import type { Evidence, Outcome } from '../../ports/outcome.js';

/** What came of a request. Every one of these, for each kind of idempotency, is a row of {@link HTTP_CLASSIFICATION}. */
export type HttpEvent =
  | { readonly type: EventWithoutAnswer; readonly evidence: Evidence }
  | {
      readonly type: 'status';
      readonly status: number;
      /** From a Retry-After that makes sense. */
      readonly retryAfterMs?: number;
      /** A 409 by which this target says that an earlier request with the key is still at work. */
      readonly inProgress?: true;
      /** The longest back-off after this attempt. */
      readonly backoffMs: number;
      readonly evidence: Evidence;
    };

type EventWithoutAnswer =
  | 'addressRefused'
  | 'unfit'
  | 'notMade'
  | 'unusable'
  | 'released'
  | 'notSent'
  | 'noAnswer'
  | 'refused';

/** What to do, as data. `wait` is the lower bound of the time to the next attempt. */
export type Verdict =
  | { readonly outcome: 'completed' | 'failed' | 'unknown' }
  | {
      readonly outcome: 'retry';
      readonly notSent: boolean;
      readonly burnsAttempt?: false;
      readonly pausesTarget?: true | 'here';
      readonly breaksTarget?: true;
      readonly wait?: 'retryAfter' | 'backoff' | 'unusable';
    };

/** One row: the first row that matches decides. */
export interface ClassificationRow {
  readonly id: string;
  /** For the reader of the documentation. */
  readonly when: string;
  readonly match:
    | { readonly event: EventWithoutAnswer }
    | {
        readonly event: 'status';
        readonly status: readonly (readonly [from: number, to: number])[];
        readonly retryAfter?: true;
        readonly inProgress?: true;
      };
  readonly key: Verdict;
  readonly natural: Verdict;
  readonly none: Verdict;
}

const COMPLETED: Verdict = { outcome: 'completed' };
const FAILED: Verdict = { outcome: 'failed' };
const UNKNOWN: Verdict = { outcome: 'unknown' };
const NOT_SENT: Verdict = { outcome: 'retry', notSent: true };
const MAY_BE_APPLIED: Verdict = { outcome: 'retry', notSent: false };
const REFUSES_US: Verdict = { outcome: 'retry', notSent: true, breaksTarget: true };

const always = (verdict: Verdict): Record<Idempotency, Verdict> => ({ key: verdict, natural: verdict, none: verdict });
const uncertain: Record<Idempotency, Verdict> = { key: MAY_BE_APPLIED, natural: MAY_BE_APPLIED, none: UNKNOWN };

/** How outcomes follow from answers, and from their absence. The one place that decides it. */
export const HTTP_CLASSIFICATION: readonly ClassificationRow[] = [
  {
    id: 'address-refused',
    when: 'The URL leads to a private address that was not allowed; no connection was made.',
    match: { event: 'addressRefused' },
    ...always(FAILED),
  },
  {
    id: 'unfit',
    when: 'The payload does not fit: a placeholder has no value that could stand in its place, or the place of the key is taken; no request was made.',
    match: { event: 'unfit' },
    ...always(FAILED),
  },
  {
    id: 'not-made',
    when: 'The request could not be made (the function threw, URL or header not valid).',
    match: { event: 'notMade' },
    ...always(NOT_SENT),
  },
  {
    id: 'unusable',
    when: 'This process cannot send HTTP at all (client not installed, transport closed).',
    match: { event: 'unusable' },
    ...always({ ...NOT_SENT, burnsAttempt: false, pausesTarget: 'here', wait: 'unusable' }),
  },
  {
    id: 'released',
    when: 'Stopped by the relay before the first byte: shutdown, lease lost, or its turn came too late.',
    match: { event: 'released' },
    ...always({ ...NOT_SENT, burnsAttempt: false }),
  },
  {
    id: 'not-sent',
    when: 'Certainly not sent: refused, unreachable, name not resolved, TLS failed, no connection in time.',
    match: { event: 'notSent' },
    ...always(NOT_SENT),
  },
  {
    id: 'no-answer',
    when: 'Sent, and no usable answer: timeout, reset, stopped, an answer that is not HTTP or was cut before it could be judged.',
    match: { event: 'noAnswer' },
    ...uncertain,
  },
  {
    id: 'refused-by-check',
    when: 'A whole 2xx answer that the success check of the kind does not accept.',
    match: { event: 'refused' },
    ...always(FAILED),
  },
  { id: '2xx', when: '2xx.', match: { event: 'status', status: [[200, 299]] }, ...always(COMPLETED) },
  {
    id: '3xx',
    when: '3xx: redirects are never followed.',
    match: { event: 'status', status: [[300, 399]] },
    ...always(FAILED),
  },
  {
    id: '401',
    when: '401: our credentials for the target are broken, not the effect.',
    match: { event: 'status', status: [[401, 401]] },
    ...always({ ...REFUSES_US, burnsAttempt: false }),
  },
  {
    id: '403',
    when: '403: credentials, or this one effect; the attempt counts, so that one forbidden effect cannot be tried for ever.',
    match: { event: 'status', status: [[403, 403]] },
    ...always(REFUSES_US),
  },
  {
    id: 'retry-after',
    when: '429 or 503 with Retry-After: the provider asks for patience and did nothing.',
    match: {
      event: 'status',
      status: [
        [429, 429],
        [503, 503],
      ],
      retryAfter: true,
    },
    ...always({ outcome: 'retry', notSent: true, burnsAttempt: false, pausesTarget: true, wait: 'retryAfter' }),
  },
  {
    id: '429',
    when: '429 without a usable Retry-After.',
    match: { event: 'status', status: [[429, 429]] },
    ...always({ ...NOT_SENT, wait: 'backoff' }),
  },
  {
    id: '409-in-progress',
    when: '409 of a target whose profile says so: an earlier attempt with the key is still at work. Looked at again until the key could be forgotten.',
    match: { event: 'status', status: [[409, 409]], inProgress: true },
    key: { ...MAY_BE_APPLIED, burnsAttempt: false, wait: 'backoff' },
    natural: FAILED,
    none: UNKNOWN,
  },
  {
    id: '409',
    when: 'Every other 409: a conflict of the resource.',
    match: { event: 'status', status: [[409, 409]] },
    ...always(FAILED),
  },
  {
    id: '422',
    when: '422: not processable, or the key was used with another body.',
    match: { event: 'status', status: [[422, 422]] },
    ...always(FAILED),
  },
  {
    id: '5xx',
    when: '408, 425 and 5xx: the provider may have acted.',
    match: {
      event: 'status',
      status: [
        [408, 408],
        [425, 425],
        [500, 599],
      ],
    },
    ...uncertain,
  },
  { id: '4xx', when: 'Every other 4xx.', match: { event: 'status', status: [[400, 499]] }, ...always(FAILED) },
  { id: 'other', when: 'Every other status.', match: { event: 'status', status: [[0, 999]] }, ...uncertain },
];

/** The row that decides about an event. */
export function classificationRow(event: HttpEvent): ClassificationRow {
  const row = HTTP_CLASSIFICATION.find(({ match }) => {
    if (match.event !== 'status' || event.type !== 'status') return match.event === event.type;
    const { status, retryAfterMs, inProgress } = event;
    return (
      match.status.some(([from, to]) => status >= from && status <= to) &&
      (match.retryAfter === undefined || retryAfterMs !== undefined) &&
      (match.inProgress === undefined || inProgress === true)
    );
  });
  if (row === undefined) throw new RangeError(`no row classifies ${JSON.stringify(event)}`);
  return row;
}

/** The outcome of an attempt. */
export function classify(idempotency: Idempotency, event: HttpEvent): Outcome {
  const verdict = classificationRow(event)[idempotency];
  const { evidence } = event;
  if (verdict.outcome !== 'retry') return { outcome: verdict.outcome, ...evidence };
  const { wait, ...rest } = verdict;
  return wait === undefined ? { ...rest, ...evidence } : { ...rest, afterMs: waitMs(wait, event), ...evidence };
}

function waitMs(wait: 'retryAfter' | 'backoff' | 'unusable', event: HttpEvent): number {
  if (wait === 'unusable' || event.type !== 'status') return UNUSABLE_PAUSE_MS;
  return wait === 'retryAfter' ? (event.retryAfterMs ?? event.backoffMs) : event.backoffMs;
}
