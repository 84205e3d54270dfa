import { didYouMean } from '../../../kernel/did-you-mean.js';
import { parseDuration } from '../../../kernel/durations.js';
import { isComandaError } from '../../../kernel/errors.js';
import { pointerProblem } from '../json-pointer.js';

/** What is wrong with a value, or `undefined`: a phrase after the name of the property, with what was found and what is allowed. */
export type Check = (value: unknown) => string | undefined;

/** One property of an object in a file. */
export interface Property {
  readonly check: Check;
  readonly required?: true;
}

/** Every property of an object in a file: a new one of the type cannot be forgotten. */
export type Shape<Form> = { readonly [Name in keyof Required<Form>]: Property };

export const text: Check = (value) =>
  typeof value === 'string' && value !== '' ? undefined : `is ${found(value)}, must be a text that is not empty`;
export const count: Check = (value) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
    ? undefined
    : `is ${shown(value)}, must be a whole number from 1`;
export const texts: Check = (value) =>
  isList(value) && value.every((item) => typeof item === 'string')
    ? undefined
    : `is ${found(value)}, must be a list of texts`;
export const textByName: Check = (value) => {
  const rule = 'must be an object of names and texts';
  if (!isObject(value)) return `is ${found(value)}, ${rule}`;
  const [name, wrong] = Object.entries(value).find(([, item]) => typeof item !== 'string') ?? [];
  return name === undefined ? undefined : `has ${found(wrong)} at '${name}', ${rule}`;
};
export const object: Check = (value) => (isObject(value) ? undefined : `is ${found(value)}, must be an object`);
export const pointer: Check = (value) => {
  const wrong = text(value);
  if (wrong !== undefined) return wrong;
  const problem = pointerProblem(String(value));
  return problem === undefined ? undefined : `is ${shown(value)}, which is no JSON pointer: it ${problem}`;
};

export function oneOf(...words: readonly string[]): Check {
  return (value) => {
    if (typeof value === 'string' && words.includes(value)) return undefined;
    const meant = typeof value === 'string' ? didYouMean(value, words) : undefined;
    const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
    return `is ${shown(value)}, must be one of ${words.map((word) => `'${word}'`).join(', ')}${hint}`;
  };
}

export function duration(maxMs?: number): Check {
  return (value) => {
    if (typeof value !== 'number' && typeof value !== 'string') {
      return `is ${found(value)}, must be milliseconds or a text such as '20s'`;
    }
    try {
      parseDuration(value, '', maxMs === undefined ? {} : { maxMs });
      return undefined;
    } catch (error) {
      if (isComandaError(error, 'COMANDA_INVALID_CONFIG')) return String(error.details['problem']).trim();
      throw error;
    }
  };
}

/** Every problem of an object: properties that do not exist, that are missing, that are wrong. */
export function problemsOf(value: unknown, shape: Readonly<Record<string, Property>>, prefix: string): string[] {
  if (!isObject(value)) return [];
  const unknown = Object.keys(value).flatMap((name) => {
    if (Object.hasOwn(shape, name)) return [];
    const meant = didYouMean(name, Object.keys(shape));
    const hint =
      meant === undefined ? `; there is ${Object.keys(shape).join(', ')}` : `, did you mean '${prefix}${meant}'?`;
    return [`unknown property '${prefix}${name}'${hint}`];
  });
  const wrong = Object.entries(shape).flatMap(([name, { check, required }]) => {
    const found = value[name];
    if (found === undefined) return required === true ? [`'${prefix}${name}' is missing`] : [];
    const problem = check(found);
    return problem === undefined ? [] : [`'${prefix}${name}' ${problem}`];
  });
  return [...unknown, ...wrong];
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** The sort of a value, for places where the value itself can be a secret. */
export function found(value: unknown): string {
  if (value === null) return 'null';
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'a list';
  return (
    { string: 'a text', number: 'a number', boolean: String(value), object: 'an object' }[typeof value as string] ??
    typeof value
  );
}

/** A value of a closed set, where no secret can be meant. */
export function shown(value: unknown): string {
  return typeof value === 'string'
    ? `'${value.slice(0, 40)}'`
    : typeof value === 'number'
      ? String(value)
      : found(value);
}
