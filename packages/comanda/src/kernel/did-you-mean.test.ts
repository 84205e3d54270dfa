import { expect, it } from 'vitest';
import { didYouMean } from './did-you-mean.js';

it('suggests the nearest word when one is near enough', () => {
  const known = ['timeout', 'target', 'retry', 'url'];
  expect(['tmeout', 'tiemout', 'Target', 'rtery', 'ulr', 'banana'].map((word) => didYouMean(word, known))).toEqual([
    'timeout',
    'timeout',
    'target',
    'retry',
    'url',
    undefined,
  ]);
});
