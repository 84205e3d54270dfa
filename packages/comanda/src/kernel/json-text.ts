import { comandaError } from './comanda-error.js';
import { numberProblem } from './json-number.js';
import { JSON_MAX_DEPTH } from './limits.js';
import { isRawJson } from './raw-json-value.js';

/** With the `u` flag, `\p{Surrogate}` matches only surrogates without their other half. */
const UNSTORABLE = /\0|\p{Surrogate}/u;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const PATH_MAX_LENGTH = 200;

/**
 * The one way in which values become JSON text for the database: what `JSON.stringify` gives, plus bigint (as digits) and
 * `rawJson` (unchanged), minus everything that would be lost or refused later.
 *
 * `undefined` members are left out, `undefined` items become `null`, objects with `toJSON` (Date) are asked for it.
 *
 * @throws ComandaError COMANDA_INVALID_PAYLOAD, naming the path (`$.a[0].b`), for U+0000, lone surrogates, NaN and infinities,
 * functions, symbols, Map, Set and promises, cycles, nesting deeper than 500, and integers of more than 1000 digits
 */
export function toJsonText(value: unknown): string {
  const text = write(value, '', undefined, []);
  return text ?? refuse(undefined, 'is undefined, which has no JSON form');
}

/** Where a value stands; only turned into text for an error. */
interface Path {
  readonly parent: Path | undefined;
  readonly step: string | number;
}

function write(value: unknown, key: string, path: Path | undefined, ancestors: object[]): string | undefined {
  switch (typeof value) {
    case 'string':
      return quote(value, path, '');
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : refuse(path, `is ${value}, which has no JSON form`);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'bigint':
      return digits(value, path);
    case 'undefined':
      return undefined;
    case 'object':
      return value === null ? 'null' : writeObject(value, key, path, ancestors);
    default:
      return refuse(path, `is a ${typeof value}, which has no JSON form`);
  }
}

function writeObject(value: object, key: string, path: Path | undefined, ancestors: object[]): string | undefined {
  if (isRawJson(value)) return value.text;
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const plain: unknown = value.toJSON(key);
    // JSON.stringify does not ask the result again either; a result that is the object itself is written as it is.
    if (plain !== value)
      return typeof plain === 'object' && plain !== null
        ? writePlain(plain, path, ancestors)
        : write(plain, key, path, ancestors);
  }
  return writePlain(value, path, ancestors);
}

function writePlain(value: object, path: Path | undefined, ancestors: object[]): string | undefined {
  if (isRawJson(value)) return value.text;
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return write(value.valueOf(), '', path, ancestors);
  }
  if (value instanceof Map || value instanceof Set || value instanceof Promise) {
    return refuse(path, `is a ${value.constructor.name}, whose content would be lost`);
  }
  if (ancestors.includes(value)) return refuse(path, 'contains itself');
  if (ancestors.length >= JSON_MAX_DEPTH) return refuse(path, `nests deeper than ${JSON_MAX_DEPTH}`);
  ancestors.push(value);
  const text = Array.isArray(value) ? writeArray(value, path, ancestors) : writeMembers(value, path, ancestors);
  ancestors.pop();
  return text;
}

function writeArray(items: readonly unknown[], parent: Path | undefined, ancestors: object[]): string {
  let text = '[';
  for (let index = 0; index < items.length; index++) {
    if (index > 0) text += ',';
    text += write(items[index], String(index), { parent, step: index }, ancestors) ?? 'null';
  }
  return `${text}]`;
}

function writeMembers(value: object, parent: Path | undefined, ancestors: object[]): string {
  let text = '';
  for (const name of Object.keys(value)) {
    const path = { parent, step: name };
    const member = write(read(value, name, path), name, path, ancestors);
    if (member === undefined) continue;
    text += `${text === '' ? '' : ','}${quote(name, path, 'has a name that ')}:${member}`;
  }
  return `{${text}}`;
}

function read(value: object, name: string, path: Path): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch (cause) {
    return refuse(path, 'has a getter that throws', cause);
  }
}

function quote(text: string, path: Path | undefined, subject: string): string {
  const found = UNSTORABLE.exec(text)?.[0];
  if (found === undefined) return JSON.stringify(text);
  const what =
    found === '\0' ? 'U+0000' : `an unpaired surrogate (U+${found.charCodeAt(0).toString(16).toUpperCase()})`;
  return refuse(path, `${subject}contains ${what}, which PostgreSQL cannot store`);
}

function digits(value: bigint, path: Path | undefined): string {
  const text = value.toString();
  const problem = numberProblem(text);
  return problem === undefined ? text : refuse(path, problem);
}

function refuse(path: Path | undefined, reason: string, cause?: unknown): never {
  throw comandaError('COMANDA_INVALID_PAYLOAD', { path: show(path), reason }, { cause });
}

function show(path: Path | undefined): string {
  const steps: string[] = [];
  for (let at = path; at !== undefined; at = at.parent) steps.unshift(step(at.step));
  const text = `$${steps.join('')}`;
  return text.length > PATH_MAX_LENGTH ? `${text.slice(0, PATH_MAX_LENGTH)}…` : text;
}

function step(of: string | number): string {
  if (typeof of === 'number') return `[${of}]`;
  return IDENTIFIER.test(of) ? `.${of}` : `[${JSON.stringify(of.replace(/\0|\p{Surrogate}/gu, '\ufffd'))}]`;
}
