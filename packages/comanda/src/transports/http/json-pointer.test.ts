import { expect, it } from 'vitest';
import { pointerProblem, readPointer } from './json-pointer.js';

// The examples of RFC 6901, section 5.
const document = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
};

it.each([
  ['', document],
  ['/foo', ['bar', 'baz']],
  ['/foo/0', 'bar'],
  ['/', 0],
  ['/a~1b', 1],
  ['/c%d', 2],
  ['/e^f', 3],
  ['/g|h', 4],
  ['/i\\j', 5],
  ['/k"l', 6],
  ['/ ', 7],
  ['/m~0n', 8],
  ['/foo/2', undefined],
  ['/foo/01', undefined],
  ['/foo/length', undefined],
  ['/toString', undefined],
  ['/foo/0/x', undefined],
])('reads %j', (pointer, value) => {
  expect(readPointer(document, pointer)).toEqual(value);
});

it('says what is wrong with a pointer', () => {
  expect(pointerProblem('/id')).toBeUndefined();
  expect(pointerProblem('id')).toBe("must start with '/', e.g. '/id'");
  expect(pointerProblem('/a~b')).toBe("has a '~' that is neither '~0' nor '~1'");
});
