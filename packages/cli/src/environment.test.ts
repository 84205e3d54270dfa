import { expect, test } from 'vitest';
import { readAiActions, takeEnvironment } from './environment.js';

test('the variables by which the driver completes a connection are taken away, all others stay', () => {
  const env: NodeJS.ProcessEnv = { PGHOST: 'h', PGPASSWORD: 's', PGOPTIONS: '-c x=y', PGP_KEY: 'k', HOME: '/h' };
  expect(takeEnvironment(env)).toEqual({ PGHOST: 'h', PGPASSWORD: 's', PGOPTIONS: '-c x=y', PGP_KEY: 'k', HOME: '/h' });
  expect(env).toEqual({ PGP_KEY: 'k', HOME: '/h' });
});

test.each([
  ['true', 'enabled'],
  ['false', 'disabled'],
  [undefined, 'unset'],
  ['', 'unset'],
  ['TRUE', 'unset'],
  ['1', 'unset'],
  [' true', 'unset'],
  ['sk_live_secret', 'unset'],
] as const)('AI_ACTIONS_ENABLED=%s is %s', (text, value) => {
  const read = readAiActions({ AI_ACTIONS_ENABLED: text });
  expect(read.value).toBe(value);
  expect(read.remark).not.toMatch(/secret|TRUE/);
});
