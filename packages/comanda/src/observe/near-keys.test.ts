import { expect, test } from 'vitest';
import { rankNear } from './read-story.js';

const row = (key: string, subject = '', same_subject = false) => ({ key, subject, same_subject });
const near = (key: string, ...rows: readonly ReturnType<typeof row>[]): readonly string[] =>
  rankNear(key, rows).map((found) => found.key);

test('a typing mistake finds its key, the nearest first', () => {
  expect(near('refnud:ORD-1', row('refund:ORD-11'), row('invoice:9'), row('refund:ORD-1'))).toEqual([
    'refund:ORD-1',
    'refund:ORD-11',
  ]);
});

test('a subject finds the decisions about it before everything else', () => {
  expect(near('order:1', row('order:2'), row('refund:7', 'order:1', true))).toEqual(['refund:7', 'order:2']);
});

test('a part finds the whole, and the whole its part', () => {
  expect(near('ORD-2041', row('refund:ORD-2041:retry'), row('refund:ORD-2041'))).toEqual([
    'refund:ORD-2041',
    'refund:ORD-2041:retry',
  ]);
  expect(near('refund:ORD-2041/issue_refund', row('refund:ORD-2041'))).toEqual(['refund:ORD-2041']);
});

test('nothing near is nothing, and five are enough', () => {
  expect(near('zzz', row('refund:ORD-1'))).toEqual([]);
  expect(near('key-1', ...Array.from({ length: 9 }, (_, i) => row(`key-${i}`)))).toHaveLength(5);
});
