import { describeThrown } from '../kernel/describe-thrown.js';
import { STORED_ERROR_MAX_BYTES, STORED_RESPONSE_MAX_BYTES } from '../kernel/limits.js';
import { redactText, valuesAt } from '../kernel/redact.js';
import type { EffectKind } from '../ports/effect-kind.js';
import type { Evidence } from '../ports/outcome.js';

const PROVIDER_ID_MAX_BYTES = 1_024;
const CLASS_MAX_BYTES = 256;
const NAMES = ['providerId', 'status', 'errorClass', 'errorText', 'response'] as const;
const NOTHING: Evidence = {};

/**
 * What may be stored of what a provider or a handler said: masked by path and by value, without control characters or broken surrogates, cut.
 * Everything that is written about an attempt goes through here, so that no text of a stranger can make a settle fail.
 */
export function storable(kind: EffectKind, payloadText: string, evidence: Evidence): Evidence {
  if (!NAMES.some((name) => evidence[name] !== undefined)) return NOTHING;
  const secrets = kind.redact.length === 0 ? [] : valuesAt(payloadText, kind.redact);
  const clean = (text: string | undefined, maxBytes: number): string | undefined =>
    text === undefined ? undefined : redactText(String(text), { paths: kind.redact, secrets, maxBytes });
  const providerId = clean(evidence.providerId, PROVIDER_ID_MAX_BYTES);
  const errorClass = clean(evidence.errorClass, CLASS_MAX_BYTES);
  const errorText = clean(evidence.errorText, STORED_ERROR_MAX_BYTES);
  const response = clean(evidence.response, STORED_RESPONSE_MAX_BYTES);
  return {
    ...(providerId === undefined ? {} : { providerId }),
    ...(Number.isInteger(evidence.status) ? { status: evidence.status as number } : {}),
    ...(errorClass === undefined ? {} : { errorClass }),
    ...(errorText === undefined ? {} : { errorText }),
    ...(response === undefined ? {} : { response }),
  };
}

/** What was thrown, as evidence. */
export function thrownEvidence(error: unknown): Evidence {
  const { errorClass, errorText } = describeThrown(error);
  return { errorClass, errorText };
}
