import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { headerText, sentKey } from './sent-key.js';

describe('headerText', () => {
  it('H03: header texts are visible ASCII, and different texts stay different', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const sent = headerText(text);
        expect(sent).toMatch(/^[\x21-\x7e]*$/);
        expect(decodeURIComponent(sent)).toBe(text);
      }),
    );
  });

  it('leaves ordinary keys as they are', () => {
    expect(headerText('refund:ORD-2041/issue_refund')).toBe('refund:ORD-2041/issue_refund');
  });
});

describe('sentKey', () => {
  const header = { header: 'Idempotency-Key' };
  const body = { body: '/key' };
  const long = `refund:${'x'.repeat(400)}`;

  it('is the key itself as long as the target accepts it, in bytes of what is sent', () => {
    expect(sentKey('refund:1/é', { carrier: body, keyMaxBytes: 32 })).toBe('refund:1/é');
    expect(sentKey('refund:1/é', { carrier: header, keyMaxBytes: 32 })).toBe('refund:1/%C3%A9');
    expect(sentKey('é'.repeat(20), { carrier: body, keyMaxBytes: 40 })).toBe('é'.repeat(20));
    expect(sentKey('é'.repeat(20), { carrier: header, keyMaxBytes: 40 })).toMatch(/^[\w-]{40}$/);
    expect(sentKey(long, { carrier: undefined, keyMaxBytes: 255 })).toBe(
      'sha256-av4DYl53J9SXPj3jl2EI8DxFh9x9wo6HKkcFQV9SwKY',
    );
  });

  it('H03: a longer one is a digest that fits and stays different', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 60, maxLength: 500 }),
        fc.string({ minLength: 60, maxLength: 500 }),
        fc.integer({ min: 32, max: 59 }),
        (a, b, keyMaxBytes) => {
          const travel = { carrier: header, keyMaxBytes };
          expect(sentKey(a, travel)).toMatch(/^[\w-]+$/);
          expect(Buffer.byteLength(sentKey(a, travel))).toBeLessThanOrEqual(keyMaxBytes);
          expect(sentKey(a, travel)).toBe(sentKey(a, travel));
          expect(sentKey(a, travel) === sentKey(b, travel)).toBe(a === b);
        },
      ),
    );
  });
});
