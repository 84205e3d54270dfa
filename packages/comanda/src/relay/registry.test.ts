import { describe, expect, it } from 'vitest';
import { defineEffect } from './define-effect.js';
import { completed } from './outcomes.js';
import { createRegistry } from './registry.js';

const kind = (name: string, target?: string) =>
  defineEffect({
    kind: name,
    ...(target === undefined ? {} : { target }),
    idempotency: 'natural',
    perform: async () => completed(),
  });

describe('what a deployment wants to execute', () => {
  it.each([
    ['a\0b', undefined],
    ['ok', 'half \ud800'],
  ])('names that PostgreSQL cannot store are refused: %j %j', (name, target) => {
    expect(() => createRegistry([kind(name, target)], 30_000)).toThrow(/PostgreSQL cannot store/);
  });

  it('a kind twice is refused, and so is an empty or a long one', () => {
    expect(() => createRegistry([kind('a'), kind('a')], 30_000)).toThrow(/"a" is defined twice/);
    expect(() => createRegistry([kind('')], 30_000)).toThrow(/0 bytes/);
    expect(() => createRegistry([kind('é'.repeat(65))], 30_000)).toThrow(/130 bytes/);
  });
});
