/**
 * Reads one value by JSON pointer (RFC 6901): `/data/0/id`, `~1` for `/`, `~0` for `~`, the empty text for the whole value.
 * `undefined` when there is no such value.
 */
export function readPointer(value: unknown, pointer: string): unknown {
  return pointerTokens(pointer).reduce(step, value);
}

/** The names that lead to a value, unescaped; none for the empty text. */
export function pointerTokens(pointer: string): string[] {
  if (pointer === '') return [];
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Why a text is not a JSON pointer, or `undefined`. */
export function pointerProblem(pointer: string): string | undefined {
  if (pointer !== '' && !pointer.startsWith('/')) return "must start with '/', e.g. '/id'";
  return /~(?![01])/.test(pointer) ? "has a '~' that is neither '~0' nor '~1'" : undefined;
}

function step(value: unknown, token: string): unknown {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(token) ? value[Number(token)] : undefined;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[token];
}
