import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replaceInJson } from './mask-json.js';
import { MASK, maskSecrets, redactText, valuesAt } from './redact.js';
import { cutToBytes, stripControls } from './text.js';

const maskAt = (text: string, ...paths: string[]): string => replaceInJson(text, paths, () => '"*"');

describe('replaceInJson', () => {
  it('masks by dotted path and leaves every other character alone', () => {
    const text = '{ "id": 12345678901234567890.10, "customer": {"email" : "a@b.c", "name":"Ana"}, "email":"x" }';
    expect(maskAt(text, 'customer.email')).toBe(text.replace('"a@b.c"', '"*"'));
  });

  it('passes through arrays and any name', () => {
    expect(maskAt('{"lines":[{"sku":1,"n":2},{"sku":[3]}]}', 'lines.sku')).toBe(
      '{"lines":[{"sku":"*","n":2},{"sku":"*"}]}',
    );
    expect(maskAt('{"a":{"k":1},"b":{"k":2}}', '*.k')).toBe('{"a":{"k":"*"},"b":{"k":"*"}}');
  });

  it('masks whole objects, escaped names, and members that look like ends', () => {
    expect(maskAt('{"a":{"x":"}","y":["]"]},"b":1}', 'a')).toBe('{"a":"*","b":1}');
    expect(maskAt('{"\\u0061":1}', 'a')).toBe('{"\\u0061":"*"}');
    expect(maskAt('{"s":"\\"a\\":1","a":2}', 'a')).toBe('{"s":"\\"a\\":1","a":"*"}');
  });

  it('masks what is there when the text was cut off', () => {
    expect(maskAt('{"email":"ana@exam', 'email')).toBe('{"email":"*"');
    expect(maskAt('{"email":{"a":"b', 'email')).toBe('{"email":"*"');
  });

  it('leaves other text unchanged and always ends', () => {
    expect(maskAt('<html>{"email":1}</html>', 'email')).toBe('<html>{"email":1}</html>');
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:1\\a '), maxLength: 30 }), (text) => {
        maskAt(text, 'a', '*.a', 'a.a');
      }),
    );
  });

  it('hides the value at any path of any JSON object', () => {
    const name = fc.stringMatching(/^[a-z]{1,3}$/);
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue()), name, (object, path) => {
        const expected = path in object ? { ...object, [path]: '*' } : object;
        expect(JSON.parse(maskAt(JSON.stringify(object), path))).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
    );
  });
});

describe('redactText', () => {
  it('S06: hides secrets in each form in which they travel', () => {
    const secret = 'k"ey/1 ü';
    const text = `raw ${secret} json ${JSON.stringify(secret)} url ${encodeURIComponent(secret)}`;
    expect(maskSecrets(text, [secret])).toBe(`raw ${MASK} json "${MASK}" url ${MASK}`);
  });

  it('S06: hides a secret whose slashes a server escapes in its JSON', () => {
    expect(maskSecrets('{"url":"ab\\/cd+ef"}', ['ab/cd+ef'])).toBe(`{"url":"${MASK}"}`);
  });

  it('S06: a longer secret leaves nothing behind when it contains another one', () => {
    expect(maskSecrets('token=abcdefgh', ['abcd', 'abcdefgh'])).toBe(`token=${MASK}`);
  });

  it('S06: no secret survives, wherever it stands and however the text is cut', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9]{8,20}$/);
    fc.assert(
      fc.property(
        secret,
        fc.string(),
        fc.string(),
        fc.integer({ min: 0, max: 60 }),
        (hidden, before, after, maxBytes) => {
          const stored = redactText(`${before}${hidden}${after}`, { secrets: [hidden], maxBytes });
          expect(stored).not.toContain(hidden);
          expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(maxBytes);
        },
      ),
    );
  });

  it('S06: removing control characters cannot put a secret together again', () => {
    expect(redactText('sec\u0000ret-value', { secrets: ['secret-value'], maxBytes: 100 })).toBe(MASK);
  });

  it('S06: hides what looks like a credential, whoever wrote it into a text', () => {
    const text = 'GET https://user:pa55@host/x failed; {"Authorization":"bearer abc.def-1/2="} Basic dXNlcjpwYQ==';
    expect(redactText(text, { maxBytes: 1_000 })).toBe(
      `GET https://${MASK}@host/x failed; {"Authorization":"bearer ${MASK}"} Basic ${MASK}`,
    );
    const sentence = 'Basic authentication failed, bearer token missing at http://host:80/a@b';
    expect(redactText(sentence, { maxBytes: 100 })).toBe(sentence);
  });

  it('gives the values at paths, for masking by value', () => {
    const payload = '{"card":{"number":4242424242424242,"holder":"Ana \\"A\\" M"},"tags":["x","y"]}';
    expect(valuesAt(payload, ['card.number'])).toEqual(['4242424242424242']);
    expect(valuesAt(payload, ['card'])).toEqual(['4242424242424242', 'Ana "A" M']);
    expect(valuesAt(payload, ['tags', 'none'])).toEqual(['x', 'y']);
  });
});

describe('texts', () => {
  it('H16: cuts to bytes on a character boundary', () => {
    expect(cutToBytes('añ😀', 7)).toBe('añ😀');
    expect(cutToBytes('añ😀x', 7)).toBe('añ…');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, maxBytes) => {
        const cut = cutToBytes(text, maxBytes);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(maxBytes);
        expect(cut).not.toMatch(/\p{Surrogate}/u);
        if (Buffer.byteLength(text) <= maxBytes) expect(cut).toBe(text);
      }),
    );
  });

  it('P01: strips what PostgreSQL cannot store and terminals obey', () => {
    expect(stripControls('a\u0000b\u001b[31mc\r\n\td\u009be\ud800')).toBe('ab[31mc\r\n\tde\ufffd');
  });
});
