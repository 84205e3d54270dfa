import { describeThrown } from '../../kernel/describe-thrown.js';
import { maskSecrets, valuesAt } from '../../kernel/redact.js';
import type { PerformContext } from '../../ports/effect-kind.js';
import type { ReconcileResult } from '../../ports/outcome.js';
import { answerEvidence, type Hidden, providerIdOf } from './response.js';
import { hide, type RunOptions, runRequest } from './run-request.js';
import type { HttpEffect, HttpEffectDefinition, HttpFinding, HttpResponse } from './types.js';

/** Looks an effect up at the provider. Whatever goes wrong is `cannotTell`. */
export async function lookUp<Input>(
  definition: HttpEffectDefinition<Input>,
  effect: HttpEffect<Input>,
  context: PerformContext,
  options: RunOptions,
): Promise<ReconcileResult> {
  const { reconcile } = definition;
  if (reconcile === undefined) return { found: 'cannotTell', errorClass: 'no_look_up' };
  if (typeof reconcile === 'function') {
    try {
      return toResult(await reconcile(effect, context.signal));
    } catch (thrown) {
      const secrets = [...valuesAt(effect.payloadText, options.redact), ...options.secrets];
      return { found: 'cannotTell', ...hide(describeThrown(thrown), secrets) };
    }
  }
  const sent = await runRequest(reconcile.request, effect, context, options);
  if (sent.type !== 'answer') return { found: 'cannotTell', ...sent.evidence };
  const { response, hidden } = sent;
  const evidence = answerEvidence(response, hidden);
  try {
    const finding = toResult(reconcile.read?.(response, effect) ?? byStatus(response));
    const id = finding.found === 'applied' ? providerIdOf(definition.providerId, response, hidden) : {};
    return { ...evidence, ...id, ...masked(finding, hidden) };
  } catch (thrown) {
    const { errorClass } = describeThrown(thrown);
    return { found: 'cannotTell', ...evidence, errorClass, errorText: 'the answer of the look-up could not be read' };
  }
}

function byStatus({ status }: HttpResponse): HttpFinding {
  if (status >= 200 && status <= 299) return 'applied';
  return status === 404 ? 'absent' : 'cannotTell';
}

/** What a kind read out of the answer is as little to be trusted as the answer. */
function masked(finding: ReconcileResult, { secrets }: Hidden): ReconcileResult {
  const clean = (name: 'providerId' | 'errorText' | 'response') => {
    const text = finding[name];
    return text === undefined ? {} : { [name]: maskSecrets(String(text), secrets) };
  };
  return { ...finding, ...clean('providerId'), ...clean('errorText'), ...clean('response') };
}

function toResult(finding: HttpFinding): ReconcileResult {
  const result = typeof finding === 'string' ? { found: finding } : finding;
  const known = result.found === 'applied' || result.found === 'absent' || result.found === 'cannotTell';
  return known
    ? result
    : { found: 'cannotTell', errorClass: 'look_up_answer', errorText: 'the look-up answered something else' };
}
