import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isComandaError } from './errors.js';
import { toJsonText } from './json-text.js';
import { rawJson } from './raw-json.js';

function refusal(run: () => unknown): { path: unknown; reason: unknown } {
  try {
    run();
  } catch (error) {
    if (isComandaError(error, 'COMANDA_INVALID_PAYLOAD')) {
      return { path: error.details['path'], reason: error.details['reason'] };
    }
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('toJsonText', () => {
  it('P07: writes what JSON.stringify writes, for every JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary-ascii' }), (value) => {
        const text = toJsonText(JSON.parse(JSON.stringify(value).replaceAll('\\u0000', '')));
        expect(text).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it('reads back equal through JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: true }), (value) => {
        const storable = JSON.parse(JSON.stringify(value).replaceAll('\\u0000', 'x'));
        expect(JSON.parse(toJsonText(storable))).toEqual(storable);
      }),
    );
  });

  it('P01: refuses U+0000 and names the path', () => {
    expect(refusal(() => toJsonText({ note: 'a\0b' }))).toEqual({
      path: '$.note',
      reason: 'contains U+0000, which PostgreSQL cannot store',
    });
    expect(refusal(() => toJsonText({ a: [{ 'b\0': 1 }] })).path).toBe('$.a[0]["b\ufffd"]');
  });

  it('P03: refuses lone surrogates in texts and names, and keeps pairs', () => {
    expect(refusal(() => toJsonText({ t: '\ud835' }))).toEqual({
      path: '$.t',
      reason: 'contains an unpaired surrogate (U+D835), which PostgreSQL cannot store',
    });
    expect(refusal(() => toJsonText({ t: '\udc00x' })).path).toBe('$.t');
    expect(refusal(() => toJsonText({ a: { '\ud835': 1 } })).reason).toMatch(/^has a name that contains an unpaired/);
    expect(toJsonText({ t: '😀' })).toBe('{"t":"😀"}');
  });

  it('P03: no text that it accepts holds an unpaired surrogate or U+0000', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: fc.constantFrom('\ud800', '\udfff', 'a', '\0') }),
        (a, b) => {
          const storable = !/\p{Surrogate}/u.test(a + b) && !(a + b).includes('\0');
          if (storable) expect(JSON.parse(toJsonText([a + b]))).toEqual([a + b]);
          else expect(refusal(() => toJsonText([a + b])).path).toBe('$[0]');
        },
      ),
    );
  });

  it('P05: writes bigint and raw JSON digit by digit', () => {
    const value = { id: 1533947986218845197n, price: rawJson('12345678901234567890.10') };
    expect(toJsonText(value)).toBe('{"id":1533947986218845197,"price":12345678901234567890.10}');
  });

  it('leaves undefined members out, turns undefined items into null, asks toJSON', () => {
    const when = new Date(0);
    expect(toJsonText({ a: undefined, b: [undefined, when], c: when, d: new Number(3) })).toBe(
      '{"b":[null,"1970-01-01T00:00:00.000Z"],"c":"1970-01-01T00:00:00.000Z","d":3}',
    );
  });

  it.each([
    ['NaN', { a: [Number.NaN] }, '$.a[0]', 'is NaN, which has no JSON form'],
    ['Infinity', Number.POSITIVE_INFINITY, '$', 'is Infinity, which has no JSON form'],
    ['a function', { f: () => 1 }, '$.f', 'is a function, which has no JSON form'],
    ['a symbol', [Symbol('s')], '$[0]', 'is a symbol, which has no JSON form'],
    ['undefined', undefined, '$', 'is undefined, which has no JSON form'],
    ['a Map', { m: new Map() }, '$.m', 'is a Map, whose content would be lost'],
    ['a promise', { p: Promise.resolve(1) }, '$.p', 'is a Promise, whose content would be lost'],
    ['a huge integer', { n: 10n ** 1000n }, '$.n', 'has a number of more than 1000 digits'],
  ])('refuses %s', (_, value, path, reason) => {
    expect(refusal(() => toJsonText(value))).toEqual({ path, reason });
  });

  it('refuses cycles but not the same object twice', () => {
    const shared = { a: 1 };
    expect(toJsonText([shared, shared])).toBe('[{"a":1},{"a":1}]');
    const circular: Record<string, unknown> = {};
    circular['self'] = { back: circular };
    expect(refusal(() => toJsonText(circular))).toEqual({ path: '$.self.back', reason: 'contains itself' });
  });

  it('refuses deep nesting before the stack ends', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(refusal(() => toJsonText(deep)).reason).toBe('nests deeper than 500');
  });

  it('M04: reports a getter that throws as a refusal of its path', () => {
    const value = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    expect(refusal(() => toJsonText({ a: value })).path).toBe('$.a.x');
  });
});
