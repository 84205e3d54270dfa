import { type Backoff, backoffCeilingMs } from '../../kernel/backoff.js';
import { describeThrown } from '../../kernel/describe-thrown.js';
import type { PerformContext } from '../../ports/effect-kind.js';
import type { Evidence, Outcome } from '../../ports/outcome.js';
import { classify, type HttpEvent } from './classify.js';
import { answerEvidence, providerIdOf } from './response.js';
import { parseRetryAfter } from './retry-after.js';
import { type RunOptions, runRequest, type Sent } from './run-request.js';
import type { HttpEffect, HttpEffectDefinition, HttpResponse } from './types.js';

/** What an attempt needs besides its request. */
export interface PerformOptions extends RunOptions, Backoff {
  /** Whether a 409 of this target says that an earlier request with the key is still at work. */
  readonly waitsAt409: boolean;
}

/** Executes one attempt: request, answer, verdict. Never rejects. */
export async function performRequest<Input>(
  definition: HttpEffectDefinition<Input>,
  effect: HttpEffect<Input>,
  context: PerformContext,
  options: PerformOptions,
): Promise<Outcome> {
  const sent = await runRequest(definition.request, effect, context, options);
  if (sent.type !== 'answer') return classify(context.idempotency, sent);
  return classify(context.idempotency, judge(definition, sent, effect.attempt, options));
}

type Answered = Extract<Sent, { type: 'answer' }>;

function judge<Input>(
  definition: HttpEffectDefinition<Input>,
  { response, hidden }: Answered,
  attempt: number,
  options: PerformOptions,
): HttpEvent {
  const { status, headers } = response;
  const evidence = answerEvidence(response, hidden);
  const verdict = check(definition.success, response);
  if (verdict === 'accepted') {
    const completed = { ...evidence, ...providerIdOf(definition.providerId, response, hidden) };
    return { type: 'status', status: 200, backoffMs: 0, evidence: completed };
  }
  if (status >= 200 && status <= 299) return { ...verdict, evidence: { ...evidence, ...verdict.evidence } };
  const retryAfterMs = parseRetryAfter(headers['retry-after'], headers['date'], options.transport.clock.wallMs());
  return {
    type: 'status',
    status,
    backoffMs: backoffCeilingMs(attempt, options),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(status === 409 && options.waitsAt409 ? { inProgress: true } : {}),
    evidence: { ...evidence, errorClass: `http_${status}`, errorText: textOf(status) },
  };
}

type Doubt = { readonly type: 'refused' | 'noAnswer'; readonly evidence: Evidence };

/** A check that says no to a whole 2xx answer is believed; one that could not read it leaves the outcome open. */
function check(success: ((response: HttpResponse) => boolean) | undefined, response: HttpResponse): 'accepted' | Doubt {
  const { status, complete } = response;
  try {
    const accepted = success === undefined ? status >= 200 && status <= 299 : success(response);
    if (accepted === true) return 'accepted';
  } catch (thrown) {
    return {
      type: 'noAnswer',
      evidence: { errorClass: 'success_check_threw', errorText: describeThrown(thrown).errorClass },
    };
  }
  return complete
    ? { type: 'refused', evidence: { errorClass: `http_${status}_refused`, errorText: 'the success check said no' } }
    : {
        type: 'noAnswer',
        evidence: { errorClass: 'answer_cut', errorText: 'the answer was cut before it could be judged' },
      };
}

function textOf(status: number): string {
  return status >= 300 && status <= 399 ? `redirect refused (HTTP ${status})` : `HTTP ${status}`;
}
