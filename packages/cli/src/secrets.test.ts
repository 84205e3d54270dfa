import { expect, test } from 'vitest';
import { withSecrets } from './secrets.js';

const env = { KEY: 's3cret', A: '1', NONE: '' };

const ref = (name: string): string => `\${env:${name}}`;

test('variables are put into texts at every depth, and into nothing else', () => {
  const config = { a: [`Bearer ${ref('KEY')}`, 2, null], b: { c: `${ref('A')}-${ref('A')}` }, d: '$KEY {A} $' };
  expect(withSecrets(config, env)).toEqual({ a: ['Bearer s3cret', 2, null], b: { c: '1-1' }, d: '$KEY {A} $' });
});

test.each(['MISSING', 'NONE'])('the variable %s, which holds nothing, is refused by name', (name) => {
  expect(() => withSecrets([ref(name)], env)).toThrow(`the variable ${name}, which is not set`);
});
