import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJsonLossless } from './json-parse.js';
import { toJsonText } from './json-text.js';
import { isRawJson, rawJson } from './raw-json.js';

/** Forces the slow parser: a number that the engine's own parser would round. */
const slow = (text: string): unknown => {
  const both = parseJsonLossless(`[10000000000000001,${text}]`);
  return Array.isArray(both) ? both[1] : undefined;
};

describe('parseJsonLossless', () => {
  it('P05: gives integers beyond 2^53 as bigint', () => {
    expect(parseJsonLossless('{"orderId":1533947986218845197}')).toEqual({ orderId: 1533947986218845197n });
    expect(parseJsonLossless('-9007199254740991')).toBe(-9007199254740991);
    expect(parseJsonLossless('-9007199254740992')).toBe(-9007199254740992n);
  });

  it('P05: gives decimals that a double would change as their text', () => {
    const value = parseJsonLossless('{"rate":0.10000000000000000555,"amount":2154.00,"big":1e400}');
    expect(value).toMatchObject({ amount: 2154 });
    const { rate, big } = value as { rate: unknown; big: unknown };
    expect(isRawJson(rate) && rate.text).toBe('0.10000000000000000555');
    expect(`${rate}`).toBe('0.10000000000000000555');
    expect(isRawJson(big) && big.text).toBe('1e400');
    expect(JSON.stringify({ rate })).toBe('{"rate":"0.10000000000000000555"}');
    expect(toJsonText({ rate })).toBe('{"rate":0.10000000000000000555}');
  });

  it('P05: keeps the digits of every integer and decimal', () => {
    const literal = fc
      .tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.option(fc.stringMatching(/^[0-9]{1,30}$/)))
      .map(([whole, fraction]) => (fraction === null ? `${whole}` : `${whole}.${fraction}`));
    fc.assert(
      fc.property(literal, (text) => {
        const value = parseJsonLossless(`{"n":${text}}`) as { n: unknown };
        const again = toJsonText(value.n);
        // As numbers they are the same; zeros at the end of a decimal do not count.
        expect(decimal(again)).toBe(decimal(text));
      }),
    );
  });

  it('agrees with JSON.parse on everything that needs no care', () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: 'medium' }), fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        fc.pre(!/\d{16}/.test(text));
        expect(slow(text)).toEqual(JSON.parse(text));
        expect(parseJsonLossless(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('refuses whatever JSON.parse refuses', () => {
    const near = fc.string({ unit: fc.constantFrom(...'{}[]",:0123.eE+-\\ntrulfase \u0001'), maxLength: 12 });
    fc.assert(
      fc.property(near, (text) => {
        const accepted = (parse: () => unknown): boolean => {
          try {
            parse();
            return true;
          } catch {
            return false;
          }
        };
        expect(
          accepted(() => slow(text)),
          text,
        ).toBe(accepted(() => JSON.parse(`[1,${text}]`)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('says where the text stops being JSON', () => {
    expect(() => parseJsonLossless('{"a":1,}')).toThrow('is not JSON at character 8, near }');
    expect(() => parseJsonLossless('{"a":')).toThrow('ends in the middle of JSON');
    expect(() => parseJsonLossless('')).toThrow('ends in the middle of JSON');
  });

  it('treats __proto__ as data', () => {
    const value = slow('{"__proto__":{"x":1}}') as Record<string, unknown>;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__']);
  });

  it('ends on deep nesting without ending the process', () => {
    expect(() => slow('['.repeat(100_000))).toThrow('nests deeper than 500');
  });
});

describe('rawJson', () => {
  it('keeps the text as it is', () => {
    expect(rawJson(' {"a": 1.0}').text).toBe(' {"a": 1.0}');
  });

  it.each([
    ['not JSON', '{a:1}', 'is not JSON at character 2'],
    ['P01: an escaped U+0000', '{"a":["\\u0000"]}', '$.a[0] contains U+0000'],
    ['P03: an escaped lone surrogate', '{"a":"\\ud835"}', '$.a contains an unpaired surrogate'],
    ['an exponent beyond ±1000', '[1e1001]', 'exponent beyond ±1000'],
    ['a negative exponent beyond ±1000', '[1E-100000000000000000000]', 'exponent beyond ±1000'],
    ['a number of too many digits', `0.${'1'.repeat(1000)}`, 'more than 1000 digits'],
    ['two values', '1 2', 'is not JSON at character 3'],
  ])('refuses %s', (_, text, message) => {
    expect(() => rawJson(text)).toThrow(message);
  });

  it('accepts exponents of ±1000', () => {
    expect(rawJson('[1e1000,1e-1000,1E+5]').text).toBe('[1e1000,1e-1000,1E+5]');
  });
});

function decimal(text: string): string {
  return text.includes('.')
    ? text.replace(/0+$/, '').replace(/\.$/, '').replace(/^-0$/, '0')
    : text.replace(/^-0$/, '0');
}
