import { comandaError } from './comanda-error.js';
import { numberProblem } from './json-number.js';
import { parseJsonWith } from './json-parse.js';
import { toJsonText } from './json-text.js';
import { type RawJson, uncheckedRawJson } from './raw-json-value.js';

export { isRawJson, type RawJson } from './raw-json-value.js';

/**
 * Marks JSON text to be stored as it is, for numbers that JavaScript cannot hold: `rawJson('12345678901234567890.10')`.
 *
 * @throws ComandaError COMANDA_INVALID_PAYLOAD when the text is not JSON, or holds what PostgreSQL's jsonb cannot: U+0000,
 * lone surrogates (also escaped), numbers with more than 1000 digits or exponents beyond ±1000
 */
export function rawJson(text: string): RawJson {
  const value = parseJsonWith(text, (literal) => {
    const problem = numberProblem(literal);
    if (problem !== undefined) throw comandaError('COMANDA_INVALID_PAYLOAD', { path: '$', reason: problem });
    return 0;
  });
  // Writing the value back checks its texts and names the path of a refused one.
  toJsonText(value);
  return uncheckedRawJson(text);
}
