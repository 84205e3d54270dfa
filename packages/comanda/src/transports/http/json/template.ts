import { isRawJson } from '../../../kernel/raw-json.js';
import { pointerProblem, readPointer } from '../json-pointer.js';

/** A value that a placeholder can stand for, besides those of the payload. */
const NAMES = ['key', 'subject'] as const;

type Name = (typeof NAMES)[number];
type Part = string | { readonly pointer: string } | { readonly name: Name };

/** A text with placeholders. */
export interface Template {
  readonly parts: readonly Part[];
  readonly problems: readonly string[];
  /** Values of variables in it. */
  readonly secrets: readonly string[];
}

/** Variables of the environment, by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** What placeholders are filled from. */
export interface Source {
  /** The payload; numbers as texts of their digits, so that none changes. */
  readonly payload: unknown;
  readonly key: string;
  readonly subject: string;
}

/** What stands for a placeholder, or why nothing can. */
export type Filled = { readonly text: string } | { readonly problem: string };

const TOKEN = /\$\{env:([^{}]*)\}|\{([^{}]*)\}|[{}]/g;
const WRITE = `write {/pointer} for a value of the payload, or ${NAMES.map((name) => `{#${name}}`).join(' or ')}`;

/**
 * Reads a text with placeholders: `{/order/id}` for a value of the payload (JSON pointer, RFC 6901), `{#key}` and `{#subject}`.
 *
 * @param variables what `${env:NAME}` may name; `undefined` where variables cannot stand (they are named as a problem elsewhere)
 */
export function parseTemplate(text: string, variables: Variables | undefined): Template {
  const parts: Part[] = [];
  const problems: string[] = [];
  const secrets: string[] = [];
  let literal = '';
  let from = 0;
  const put = (part: Part): void => {
    if (literal !== '') parts.push(literal);
    literal = '';
    parts.push(part);
  };
  for (const match of text.matchAll(TOKEN)) {
    const [token, variable, inner] = match;
    literal += text.slice(from, match.index);
    from = match.index + token.length;
    if (variable !== undefined) {
      const value = variables !== undefined && Object.hasOwn(variables, variable) ? variables[variable] : undefined;
      if (value !== undefined && value !== '') {
        literal += value;
        secrets.push(value);
      } else if (variables !== undefined) {
        problems.push(`names the variable ${variable}, which is not set; set it, or remove ${token}`);
      }
    } else if (inner === undefined) {
      problems.push(`has a '${token}' that belongs to no placeholder; ${WRITE}`);
    } else if (inner.startsWith('/')) {
      const problem = pointerProblem(inner);
      if (problem === undefined) put({ pointer: inner });
      else problems.push(`has the placeholder ${token}, whose pointer ${problem}`);
    } else {
      const name = NAMES.find((one) => inner === `#${one}`);
      if (name === undefined) problems.push(`has ${token}, which is no placeholder; ${WRITE}`);
      else put({ name });
    }
  }
  literal += text.slice(from);
  if (literal !== '') parts.push(literal);
  return { parts, problems, secrets };
}

/** The placeholders of a template as they are written. */
export function placeholders({ parts }: Template): string[] {
  return parts.flatMap((part) => (typeof part === 'string' ? [] : [shown(part)]));
}

/** The text of a placeholder: a text, a number with all its digits, `true` or `false`. Nothing else has one obvious form. */
export function fill(part: Exclude<Part, string>, source: Source): Filled {
  if ('name' in part) {
    const text = source[part.name];
    return text === '' ? { problem: `${shown(part)} has no value: the decision names no ${part.name}` } : { text };
  }
  const value = readPointer(source.payload, part.pointer);
  if (typeof value === 'string') return { text: value };
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' || isRawJson(value)) {
    return { text: String(value) };
  }
  if (value === undefined) return { problem: `the payload has no value at ${part.pointer}` };
  const found = value === null ? 'null' : Array.isArray(value) ? 'a list' : 'an object';
  return { problem: `the payload has ${found} at ${part.pointer}, expected a text, a number, true or false` };
}

function shown(part: Exclude<Part, string>): string {
  return 'name' in part ? `{#${part.name}}` : `{${part.pointer}}`;
}
