import { JSON_MAX_DEPTH } from './limits.js';

/** Reads one matched value's text, returns the text to stand in its place. */
type OnMatch = (value: string) => string;

/**
 * Replaces values by dotted path inside JSON text, leaving every other character as it is: digits, escapes, white space.
 *
 * `customer.email` matches from the root, `*` matches any one name, arrays are passed through (`lines.sku` matches in each
 * line). Text that was cut off is handled as far as it goes; text that is not JSON comes back unchanged.
 */
export function replaceInJson(text: string, paths: readonly string[], onMatch: OnMatch): string {
  const wanted = paths.filter((path) => path !== '').map((path) => path.split('.'));
  if (wanted.length === 0) return text;
  let at = 0;
  let out = '';
  let copied = 0;

  const skipSpace = (): void => {
    while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at++;
  };

  const skipString = (): void => {
    at++;
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    at = Math.min(at + 1, text.length);
  };

  const skipValue = (): void => {
    let depth = 0;
    do {
      skipSpace();
      const char = text[at];
      if (char === '"') skipString();
      else if (char === '{' || char === '[') {
        depth++;
        at++;
      } else if (char === '}' || char === ']') {
        depth--;
        at++;
      } else if (char === ',' || char === ':') at++;
      else while (at < text.length && !' \t\r\n,:]}'.includes(text.charAt(at))) at++;
      skipSpace();
    } while (depth > 0 && at < text.length);
  };

  const replaceValue = (): void => {
    out += text.slice(copied, at);
    const start = at;
    skipValue();
    out += onMatch(text.slice(start, at).trimEnd());
    copied = at;
  };

  const visit = (active: readonly (readonly string[])[], depth: number): void => {
    skipSpace();
    const open = text[at];
    if (active.length === 0 || (open !== '{' && open !== '[')) {
      skipValue();
      return;
    }
    if (depth > JSON_MAX_DEPTH) {
      replaceValue();
      return;
    }
    at++;
    while (at < text.length) {
      skipSpace();
      if (text[at] === '}' || text[at] === ']') {
        at++;
        return;
      }
      if (text[at] === ',') at++;
      else if (open === '[') visit(active, depth + 1);
      else member(active, depth);
    }
  };

  const member = (active: readonly (readonly string[])[], depth: number): void => {
    if (text[at] !== '"') {
      at = text.length;
      return;
    }
    const start = at;
    skipString();
    const name = nameOf(text.slice(start, at));
    skipSpace();
    if (text[at] === ':') at++;
    skipSpace();
    const rest = active.filter(([first]) => first === name || first === '*').map((path) => path.slice(1));
    if (rest.some((path) => path.length === 0)) replaceValue();
    else visit(rest, depth + 1);
  };

  visit(wanted, 0);
  return out + text.slice(copied);
}

function nameOf(quoted: string): string {
  try {
    const name: unknown = JSON.parse(quoted);
    return typeof name === 'string' ? name : '';
  } catch {
    return '';
  }
}
