import { parseJsonWith } from '../../kernel/json-parse.js';
import { toJsonText } from '../../kernel/json-text.js';
import { isRawJson, uncheckedRawJson } from '../../kernel/raw-json-value.js';
import { pointerTokens } from './json-pointer.js';
import { unfit } from './unfit.js';

/**
 * The payload with the key in it. Numbers keep their digits; objects on the way that are not there are made.
 *
 * @param pointer JSON pointer (RFC 6901) of a member, e.g. `/idempotency_key`
 * @throws an unfit error when something else stands there already, or nothing can stand there
 */
export function withKeyInBody(payloadText: string, pointer: string, key: string): string {
  const body = parseJsonWith(payloadText, uncheckedRawJson);
  const tokens = pointerTokens(pointer);
  const last = tokens.pop() ?? '';
  let at = body;
  for (const token of tokens) {
    const members = membersOf(at, pointer);
    if (!Object.hasOwn(members, token)) define(members, token, {});
    at = members[token];
  }
  const members = membersOf(at, pointer);
  if (!Object.hasOwn(members, last)) define(members, last, key);
  else if (members[last] === key) return payloadText;
  else throw unfit(`the payload already holds another value at ${pointer}, where the idempotency key goes`);
  return toJsonText(body);
}

function membersOf(value: unknown, pointer: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isRawJson(value)) {
    throw unfit(`the idempotency key goes to ${pointer}, and what stands above it in the payload is no object`);
  }
  return value as Record<string, unknown>;
}

/** A member named `__proto__` is data. */
function define(members: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
}
