import { describeThrown } from '../kernel/describe-thrown.js';
import { STORED_ERROR_MAX_BYTES, STORED_RESPONSE_MAX_BYTES } from '../kernel/limits.js';
import { redactText, valuesAt } from '../kernel/redact.js';
import { cutToBytes } from '../kernel/text.js';
import type { EffectKind } from '../ports/effect-kind.js';
import type { Evidence } from '../ports/outcome.js';

const PROVIDER_ID_MAX_BYTES = 1_024;
const CLASS_MAX_BYTES = 256;
/** A lane keeps 1024 bytes of what blocks it. */
const REASON_MAX_BYTES = 900;
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
    ...(isStorableStatus(evidence.status) ? { status: evidence.status } : {}),
    ...(errorClass === undefined ? {} : { errorClass }),
    ...(errorText === undefined ? {} : { errorText }),
    ...(response === undefined ? {} : { response }),
  };
}

/** One line for the outcome and for the lane that it blocks. */
export function reasonOf({ errorClass, errorText }: Evidence): string {
  return (
    cutToBytes([errorClass, errorText].filter((text) => text !== undefined).join(': '), REASON_MAX_BYTES) || 'failed'
  );
}

/** The column is a 32-bit integer, and providers have ideas of their own. */
function isStorableStatus(status: number | undefined): status is number {
  return status !== undefined && Number.isInteger(status) && Math.abs(status) <= 2_147_483_647;
}

/** What was thrown, as evidence. */
export function thrownEvidence(error: unknown): Evidence {
  const { errorClass, errorText } = describeThrown(error);
  return { errorClass, errorText };
}
