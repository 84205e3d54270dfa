import { JSON_NUMBER_MAX_DIGITS } from './limits.js';
import { uncheckedRawJson } from './raw-json-value.js';

/** The value that stands for a JSON number without changing it: number, bigint, or RawJson. */
export function integerOrDecimal(literal: string): unknown {
  const number = Number(literal);
  if (/^-?\d+$/.test(literal)) return Number.isSafeInteger(number) ? number : BigInt(literal);
  return Number.isFinite(number) && sameDecimal(literal, String(number)) ? number : uncheckedRawJson(literal);
}

/** Why a number's text cannot be stored, or `undefined`: PostgreSQL would expand `1e100000` to its digits. */
export function numberProblem(literal: string): string | undefined {
  const exponent = /[eE]([+-]?\d+)$/.exec(literal)?.[1];
  if (exponent !== undefined && Math.abs(Number(exponent)) > JSON_NUMBER_MAX_DIGITS) {
    return `has a number with an exponent beyond ±${JSON_NUMBER_MAX_DIGITS}`;
  }
  if (literal.replace(/[eE].*$/, '').replace(/[-.]/g, '').length > JSON_NUMBER_MAX_DIGITS) {
    return `has a number of more than ${JSON_NUMBER_MAX_DIGITS} digits`;
  }
  return undefined;
}

function sameDecimal(a: string, b: string): boolean {
  const left = decompose(a);
  const right = decompose(b);
  return left.digits === right.digits && left.exponent === right.exponent;
}

/** Significant digits without leading and trailing zeros, and the power of ten of the last one. */
function decompose(literal: string): { digits: string; exponent: number } {
  const [mantissa = '', power = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const all = (whole + fraction).replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits === '') return { digits, exponent: 0 };
  return { digits, exponent: Number(power) - fraction.length + (all.length - digits.length) };
}
