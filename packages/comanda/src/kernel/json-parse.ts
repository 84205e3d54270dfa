import { comandaError } from './comanda-error.js';
import { integerOrDecimal } from './json-number.js';
import { JSON_MAX_DEPTH } from './limits.js';

/**
 * Where a number of 16 and more characters, or one with an exponent, may stand. Without it every number fits a double
 * (15 significant digits always do), and the engine's own parser is used. Matches inside strings only cost time.
 */
const DELICATE_NUMBER = /(?:^|[:[,\s])-?(?:[0-9][0-9.]{15}|[0-9.]+[eE])/;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN_STRING = /"[^"\\\u0000-\u001f]*"/y;
const ESCAPED_STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LITERAL = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

/**
 * `JSON.parse` that never rounds: integers beyond ±(2^53 − 1) become `bigint`, decimals that a double would change become
 * {@link RawJson} objects holding their digits. Everything else is as `JSON.parse` gives it.
 *
 * @throws ComandaError COMANDA_INVALID_PAYLOAD when the text is not JSON
 */
export function parseJsonLossless(text: string): unknown {
  if (!DELICATE_NUMBER.test(text)) {
    try {
      return JSON.parse(text);
    } catch {
      // The parser below says where it stopped.
    }
  }
  return parseJsonWith(text, integerOrDecimal);
}

/** Parses JSON text, giving each number's literal text to `numberOf`. */
export function parseJsonWith(text: string, numberOf: (literal: string) => unknown): unknown {
  let at = 0;

  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };

  const refuse = (): never => {
    const near = text.slice(at, at + 12);
    const reason =
      at >= text.length ? 'ends in the middle of JSON' : `is not JSON at character ${at + 1}, near ${near}`;
    throw comandaError('COMANDA_INVALID_PAYLOAD', { path: '$', reason });
  };

  const string = (): string => {
    const plain = match(PLAIN_STRING);
    if (plain !== undefined) return plain.slice(1, -1);
    return JSON.parse(match(ESCAPED_STRING) ?? refuse());
  };

  const value = (depth: number): unknown => {
    if (depth > JSON_MAX_DEPTH) {
      throw comandaError('COMANDA_INVALID_PAYLOAD', { path: '$', reason: `nests deeper than ${JSON_MAX_DEPTH}` });
    }
    match(SPACE);
    const parsed = valueHere(depth);
    match(SPACE);
    return parsed;
  };

  const valueHere = (depth: number): unknown => {
    const char = text[at];
    if (char === '{') return object(depth);
    if (char === '[') return array(depth);
    if (char === '"') return string();
    const literal = match(LITERAL);
    if (literal !== undefined) return literal === 'null' ? null : literal === 'true';
    return numberOf(match(NUMBER) ?? refuse());
  };

  const array = (depth: number): unknown[] => {
    const items: unknown[] = [];
    at++;
    match(SPACE);
    if (text[at] === ']') {
      at++;
      return items;
    }
    for (;;) {
      items.push(value(depth + 1));
      if (text[at] !== ',' && text[at] !== ']') refuse();
      if (text[at++] === ']') return items;
    }
  };

  const object = (depth: number): Record<string, unknown> => {
    const members: Record<string, unknown> = {};
    at++;
    match(SPACE);
    if (text[at] === '}') {
      at++;
      return members;
    }
    for (;;) {
      match(SPACE);
      const name = string();
      match(SPACE);
      if (text[at] !== ':') refuse();
      at++;
      define(members, name, value(depth + 1));
      if (text[at] !== ',' && text[at] !== '}') refuse();
      if (text[at++] === '}') return members;
    }
  };

  const parsed = value(0);
  if (at < text.length) refuse();
  return parsed;
}

/** A member named `__proto__` is data, as for JSON.parse, and never becomes the prototype. */
function define(members: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(members, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    members[name] = value;
  }
}
