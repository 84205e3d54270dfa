import fc from 'fast-check';
import { expect, it } from 'vitest';
import { headerText } from './wire.js';

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
