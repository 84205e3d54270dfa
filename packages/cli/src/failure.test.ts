import { comandaError } from 'comanda/internal';
import { expect, test } from 'vitest';
import { CliError, failureOf } from './failure.js';

const coded = (message: string, code: string, more: object = {}): Error =>
  Object.assign(new Error(message), { code }, more);

test.each<[string, unknown, number]>([
  ['refused', coded('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'), 6],
  ['no such host', coded('getaddrinfo ENOTFOUND nowhere', 'ENOTFOUND'), 6],
  ['no socket', coded('connect ENOENT /run/x', 'ENOENT', { syscall: 'connect' }), 6],
  ['two addresses', new AggregateError([coded('connect ECONNREFUSED ::1:1', 'ECONNREFUSED')], ''), 6],
  ['no such database', coded('database "x" does not exist', '3D000'), 6],
  ['wrong password', coded('password authentication failed', '28P01'), 6],
  ['full', coded('too many clients', '53300'), 6],
  ['no TLS there', new Error('The server does not support SSL connections'), 6],
  ['another CA', coded('self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT'), 6],
  ['no schema', coded('relation does not exist', '42P01'), 7],
  ['version', comandaError('COMANDA_SCHEMA_VERSION', { problem: 'x' }), 7],
  ['not found', coded('no effect 1', 'CM007'), 4],
  ['wrong scope', coded('scope must be', 'CM011'), 2],
  ['nobody named', coded('needs by', 'CM013'), 2],
  ['unsafe kind', comandaError('COMANDA_UNSAFE_EFFECT', { kind: 'x', problem: 'y' }), 2],
  ['a copy', comandaError('COMANDA_NOT_ADOPTED', { reason: 'x' }), 3],
  ['no right', coded('permission denied for table run', '42501'), 1],
  ['too slow', coded('canceling statement due to statement timeout', '57014'), 1],
  ['a missing file', coded('ENOENT: no such file', 'ENOENT', { syscall: 'open' }), 2],
  ['anything', new TypeError('x is not a function'), 1],
  ['no error at all', undefined, 1],
])('%s', (_, error, exitCode) => {
  const failure = failureOf(error, 'db:5432/shop');
  expect(failure.exitCode).toBe(exitCode);
  expect(failure.line).toMatch(/^comanda: .+\. .+ \((COMANDA|CLI)_[A-Z_]+, docs\/reference\/\S+\)$/);
  expect(failure.line).not.toContain('\n');
});

test('an error of the command line keeps its words and its code', () => {
  expect(failureOf(new CliError('CLI_USAGE', 2, 'Something is missing. Add it.'))).toEqual({
    line: 'comanda: Something is missing. Add it. (CLI_USAGE, docs/reference/cli.md#exit-codes)',
    exitCode: 2,
  });
});
