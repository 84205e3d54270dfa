import { parseJsonLossless } from '../../kernel/json-parse.js';
import { STORED_RESPONSE_MAX_BYTES } from '../../kernel/limits.js';
import { redactText } from '../../kernel/redact.js';
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

/** The provider's identifier, by JSON pointer or function, without what must not be stored; nothing when it is not there or cannot be read. */
export function providerIdOf(
  source: string | ((response: HttpResponse) => string | undefined) | undefined,
  response: HttpResponse,
  { secrets }: Hidden,
): Pick<Evidence, 'providerId'> {
  const value = typeof source === 'string' ? providerIdAt(source, response) : safely(() => source?.(response));
  if (!isIdentifier(value)) return {};
  return { providerId: redactText(String(value), { secrets, maxBytes: PROVIDER_ID_MAX_BYTES }) };
}

/** The provider's identifier at a JSON pointer: a text or a number. */
export function providerIdAt(pointer: string, response: HttpResponse): string | undefined {
  const value = readPointer(response.json(), pointer);
  return isIdentifier(value) ? String(value) : undefined;
}

function isIdentifier(value: unknown): value is string | number | bigint {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
}

function safely<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
