import type { Book } from './book.js';
import type { ProviderDouble } from './types.js';

// Known by name, so that a double of another copy of this package is recognised.
const BOOK = Symbol.for('comanda.testing.book');

/** Lets the kit itself see the book behind a double. */
export function registerBook<Double extends ProviderDouble>(double: Double, book: Book): Double {
  return Object.defineProperty(double, BOOK, { value: book });
}

/** The book behind a double. */
export function bookOf(double: ProviderDouble): Book {
  if (!(BOOK in double)) throw new TypeError('this is no provider double of comanda/testing');
  return double[BOOK] as Book;
}
