import { describe, expect, it } from 'vitest';
import { describeThrown } from './describe-thrown.js';

describe('describeThrown', () => {
  const circular: Record<string, unknown> = { Authorization: 'Bearer secret' };
  circular['self'] = circular;
  const hostile = Object.defineProperty(new Error('x'), 'message', {
    get: () => {
      throw new Error('no');
    },
  });
  const proxy = new Proxy(
    {},
    {
      get: () => {
        throw new Error('get');
      },
      getPrototypeOf: () => {
        throw new Error('proto');
      },
    },
  );

  it.each([
    ['undefined', undefined, 'thrown_undefined', 'undefined'],
    ['null', null, 'thrown_null', 'null'],
    ['a text', 'text', 'thrown_string', 'text'],
    ['a symbol', Symbol('s'), 'thrown_symbol', 'Symbol(s)'],
    ['a circular object', circular, 'thrown_object', 'thrown object without message'],
    ['an error whose message getter throws', hostile, 'Error', 'error whose message cannot be read'],
    ['a proxy that throws at everything', proxy, 'thrown_unreadable', 'unreadable object'],
    ['an error with a code', Object.assign(new Error('gone'), { code: 'ECONNRESET' }), 'ECONNRESET', 'gone'],
    ['an error with an odd code', Object.assign(new TypeError('t'), { code: 'a b' }), 'TypeError', 't'],
    ['an error with a cause', new Error('outer', { cause: new Error('inner') }), 'Error', 'outer (cause: inner)'],
    ['a silent AggregateError', new AggregateError([new Error('a'), new Error('b')]), 'AggregateError', 'a; b'],
    ['a function', () => 1, 'thrown_function', 'thrown function'],
  ])('M04: describes %s', (_, thrown, errorClass, errorText) => {
    expect(describeThrown(thrown)).toEqual({ errorClass, errorText });
  });

  it('M04: ends on causes in a circle and cuts long texts', () => {
    const error = new Error('é'.repeat(10_000));
    error.cause = error;
    const { errorText } = describeThrown(error);
    expect(Buffer.byteLength(errorText)).toBeLessThanOrEqual(4_096);
  });
});
