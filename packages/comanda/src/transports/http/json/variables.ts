import { isList, isObject } from './shape.js';

const VARIABLE = /\$\{env:[^{}]*\}/;
/** Where variables of the environment are read. */
const ALLOWED = /^(?:reconcile\.request\.)?headers\.[^\0]+$/;

/** Variables anywhere but in values of headers: they hold secrets, and everything else is stored, shown or logged. */
export function misplacedVariables(spec: Readonly<Record<string, unknown>>): string[] {
  return texts(spec, '').flatMap(({ path, text }) => {
    const [variable] = VARIABLE.exec(text) ?? [];
    if (variable === undefined || ALLOWED.test(path)) return [];
    return [`'${path}' holds ${variable}; variables of the environment are read in values of headers only`];
  });
}

function texts(value: unknown, path: string): { readonly path: string; readonly text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (isList(value)) return value.flatMap((item, i) => texts(item, `${path}[${i}]`));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => texts(item, path === '' ? name : `${path}.${name}`));
}
