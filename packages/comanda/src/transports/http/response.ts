import { parseJsonLossless } from '../../kernel/json-parse.js';
import { STORED_RESPONSE_MAX_BYTES } from '../../kernel/limits.js';
import { redactText } from '../../kernel/redact.js';
import { cutToBytes, stripControls } from '../../kernel/text.js';
import type { Evidence } from '../../ports/outcome.js';
import type { Exchange } from './exchange.js';
import { readPointer } from './json-pointer.js';
import type { HttpResponse } from './types.js';

const PROVIDER_ID_MAX_BYTES = 512;

/** What must not be stored. */
export interface Hidden {
  readonly paths: readonly string[];
  readonly secrets: readonly string[];
}

/** The provider's answer in the form that checks and look-ups read. */
export function toResponse(answer: Extract<Exchange, { kind: 'answer' }>): HttpResponse {
  const headers = Object.fromEntries(
    Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), typeof value === 'string' ? value : value.join(', ')]],
    ),
  );
  const coding = headers['content-encoding'] ?? 'identity';
  // We ask for identity; a provider that compresses nonetheless is kept as a fact, not as bytes.
  const text = coding === 'identity' ? answer.body.toString('utf8') : `[${coding}, ${answer.body.length} bytes]`;
  return {
    status: answer.status,
    headers,
    text,
    complete: answer.complete,
    json() {
      try {
        return parseJsonLossless(text);
      } catch {
        return undefined;
      }
    },
  };
}

/** What is kept of an answer: redacted, cut, never a request header. */
export function answerEvidence(response: HttpResponse, hidden: Hidden): Evidence {
  const text = redactText(response.text, { ...hidden, maxBytes: STORED_RESPONSE_MAX_BYTES });
  return { status: response.status, ...(text === '' ? {} : { response: text }) };
}

/** The provider's identifier, by JSON pointer or function; nothing when it is not there or cannot be read. */
export function providerIdOf(
  source: string | ((response: HttpResponse) => string | undefined) | undefined,
  response: HttpResponse,
): Pick<Evidence, 'providerId'> {
  const value = typeof source === 'string' ? readPointer(response.json(), source) : safely(() => source?.(response));
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return {};
  return { providerId: cutToBytes(stripControls(String(value)), PROVIDER_ID_MAX_BYTES) };
}

function safely<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
