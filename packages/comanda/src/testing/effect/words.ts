import type { BookEntry } from '../provider/types.js';
import type { Life } from './life.js';

/** How often the handler was tried, in words. */
export function attempts({ calls }: Life): string {
  const performed = calls.filter(({ of }) => of === 'perform').length;
  return `${performed} ${performed === 1 ? 'attempt' : 'attempts'}`;
}

/** What the handler said last, as it said it. */
export function lastWord({ calls }: Life): string {
  const last = calls.at(-1);
  if (last === undefined) return 'the handler was never called';
  if (last.threw !== undefined) return `${last.of} threw ${textOf(last.threw)}`;
  if (last.said === undefined) return `${last.of} returned no outcome`;
  const { outcome, found, errorClass, errorText } = last.said as unknown as Record<string, string | undefined>;
  return `${last.of} returned ${[outcome ?? found, errorClass, errorText].filter((word) => word !== undefined).join(', ')}`;
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
}

export function times(count: number): string {
  return count === 0 ? 'not at all' : count === 1 ? 'once' : `${count} times`;
}

export function listed(entries: readonly BookEntry[]): string {
  return entries
    .map(({ method, path, key }) => `${method} ${path}${key === undefined ? '' : ` with key ${key}`}`)
    .join(', ');
}
