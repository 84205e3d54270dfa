import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonWith } from '../../kernel/json-parse.js';
import { withKeyInBody } from './body-key.js';
import { isUnfit } from './unfit.js';

function refusal(payload: string, pointer: string): string {
  try {
    return withKeyInBody(payload, pointer, 'K');
  } catch (error) {
    expect(isUnfit(error)).toBe(true);
    return (error as Error).message;
  }
}

describe('withKeyInBody', () => {
  it('P05: changes nothing else, not one digit', () => {
    const payload =
      '{"b": 1.0, "id": 1533947986218845197, "e": 0.10000000000000000001, "__proto__": {"x": "\\u00e9\\"😀"}}';
    expect(withKeyInBody(payload, '/idempotency_key', 'refund:1/a')).toBe(
      '{"b":1.0,"id":1533947986218845197,"e":0.10000000000000000001,"__proto__":{"x":"é\\"😀"},"idempotency_key":"refund:1/a"}',
    );
  });

  it('any payload keeps its members, and has the key', () => {
    const literal = (text: string): unknown => ({ literal: text });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (members, key) => {
        fc.pre(!Object.hasOwn(members, 'k'));
        const before = JSON.stringify(members);
        const after = parseJsonWith(withKeyInBody(before, '/k', key), literal) as Record<string, unknown>;
        expect(after['k']).toBe(key);
        delete after['k'];
        expect(after).toEqual(parseJsonWith(before, literal));
      }),
    );
  });

  it('makes objects on the way, and leaves a payload that has the key byte for byte', () => {
    expect(withKeyInBody('{"a": {"b": 1}}', '/a/c~1d/key', 'K')).toBe('{"a":{"b":1,"c/d":{"key":"K"}}}');
    expect(withKeyInBody('{}', '/__proto__/key', 'K')).toBe('{"__proto__":{"key":"K"}}');
    expect(withKeyInBody('{"k":  "K" }', '/k', 'K')).toBe('{"k":  "K" }');
  });

  it.each([
    ['{"k": "other"}', '/k', 'the payload already holds another value at /k, where the idempotency key goes'],
    ['{"k": null}', '/k', 'the payload already holds another value at /k, where the idempotency key goes'],
    ['[1]', '/k', 'the idempotency key goes to /k, and what stands above it in the payload is no object'],
    ['{"a": [1]}', '/a/0', 'the idempotency key goes to /a/0, and what stands above it in the payload is no object'],
    ['{"a": 12}', '/a/b', 'the idempotency key goes to /a/b, and what stands above it in the payload is no object'],
  ])('refuses %s at %s', (payload, pointer, message) => {
    expect(refusal(payload, pointer)).toBe(message);
  });
});
