import { describe, expect, it } from 'vitest';
import {
  ComandaError,
  comandaError,
  ERRORS,
  type ErrorEntry,
  fromDatabaseError,
  isComandaError,
  isRetryableDatabaseError,
  sqlstateOf,
} from './errors.js';

const raised = (code: string, more: object = {}): Error =>
  Object.assign(new Error(`database says ${code}`), { code, ...more });

describe('comandaError', () => {
  it('tells what happened and what to do, and keeps the values', () => {
    const error = comandaError('COMANDA_KEY_CONFLICT', { key: 'refund:ORD-2041' });
    expect(error.message).toBe(
      'The key refund:ORD-2041 already belongs to a decision with other content, so this one was not recorded. ' +
        'Use a key that names this operation and no other; a correction is a new decision under its own key.',
    );
    expect(error).toMatchObject({ code: 'COMANDA_KEY_CONFLICT', sqlstate: 'CM001', retryable: false });
    expect(error.details).toEqual({ key: 'refund:ORD-2041' });
    expect(error.docs).toBe('docs/reference/errors.md#comanda_key_conflict');
  });

  it('is recognised by name and code, also from another copy of the package', () => {
    const foreign = Object.assign(new Error('x'), { name: 'ComandaError', code: 'COMANDA_NOT_FOUND' });
    expect(isComandaError(foreign, 'COMANDA_NOT_FOUND')).toBe(true);
    expect(isComandaError(foreign, 'COMANDA_TOO_LARGE')).toBe(false);
    expect(isComandaError(new Error('x'))).toBe(false);
  });

  it('no SQLSTATE stands for two errors', () => {
    const states = Object.values<ErrorEntry>(ERRORS).flatMap((entry) => entry.sqlstate ?? []);
    expect(new Set(states).size).toBe(states.length);
    expect(states.every((state) => /^CM\d{3}$/.test(state))).toBe(true);
  });
});

describe('fromDatabaseError', () => {
  it('maps each SQLSTATE of our own to its code, with the database text and DETAIL', () => {
    for (const [code, entry] of Object.entries<ErrorEntry>(ERRORS)) {
      if (entry.sqlstate === undefined) continue;
      const cause = raised(entry.sqlstate, { detail: '{"key":"k1"}', hint: 'comanda.skip' });
      const mapped = fromDatabaseError(cause);
      expect(mapped).toBeInstanceOf(ComandaError);
      expect(mapped).toMatchObject({
        code,
        sqlstate: entry.sqlstate,
        cause,
        details: { key: 'k1', hint: 'comanda.skip' },
      });
      expect((mapped as ComandaError).message).toContain(`database says ${entry.sqlstate}.`);
    }
  });

  it.each(['40001', '40P01', '55P03'])('D08: %s is retryable and keeps its SQLSTATE', (code) => {
    expect(fromDatabaseError(raised(code))).toMatchObject({
      code: 'COMANDA_RETRYABLE',
      sqlstate: code,
      retryable: true,
    });
    expect(isRetryableDatabaseError(raised(code))).toBe(true);
    expect(isRetryableDatabaseError(fromDatabaseError(raised(code)))).toBe(true);
  });

  it('D08: finds the SQLSTATE inside the wrappers of ORMs', () => {
    const drizzle = new Error('Failed query', { cause: raised('40001') });
    const prisma = Object.assign(new Error('Raw query failed'), { code: 'P2010', meta: { code: '40001' } });
    const adapter = Object.assign(new Error('x'), {
      code: 'P2010',
      meta: { driverAdapterError: { cause: { originalCode: '40P01' } } },
    });
    const typeorm = Object.assign(new Error('x'), { driverError: raised('55P03') });
    expect([drizzle, prisma, adapter, typeorm].map(sqlstateOf)).toEqual(['40001', '40001', '40P01', '55P03']);
  });

  it('returns what it does not know unchanged', () => {
    for (const error of [raised('23505'), raised('EPIPE'), new Error('x'), 'text', undefined]) {
      expect(fromDatabaseError(error)).toBe(error);
    }
  });

  it('a missing schema is named', () => {
    expect(fromDatabaseError(raised('3F000'))).toMatchObject({ code: 'COMANDA_SCHEMA_MISSING' });
  });

  it('D14: lost connections are retryable, other errors are not', () => {
    const lost = [
      raised('57P01'),
      raised('08006'),
      raised('ECONNRESET'),
      new Error('Connection terminated unexpectedly'),
    ];
    expect(lost.every(isRetryableDatabaseError)).toBe(true);
    expect([raised('23505'), new Error('x'), null].some(isRetryableDatabaseError)).toBe(false);
  });

  it('ends on errors that contain themselves', () => {
    const error: Error = new Error('loop');
    error.cause = error;
    expect(sqlstateOf(error)).toBeUndefined();
  });
});
