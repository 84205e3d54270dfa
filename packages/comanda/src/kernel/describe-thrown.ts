import { STORED_ERROR_MAX_BYTES } from './limits.js';
import { cutToBytes, stripControls } from './text.js';

/** What is kept of something that was thrown. */
export interface ThrownDescription {
  /** Short class: the error's `code` when it has one, else its name, else `thrown_<type>`. */
  readonly errorClass: string;
  /** Its text, without control characters, cut to the stored-error limit. */
  readonly errorText: string;
}

const CLASS = /^[\w.:-]{1,64}$/;
const MAX_CAUSES = 3;

/**
 * Describes anything that was thrown, and never throws itself: `undefined`, texts, circular objects, errors whose getters
 * throw, proxies. Only message and class are read, never the object's other properties, which can hold credentials.
 */
export function describeThrown(thrown: unknown): ThrownDescription {
  const errorClass = attempt(() => classOf(thrown)) ?? 'thrown_unreadable';
  const errorText = attempt(() => textOf(thrown, MAX_CAUSES)) ?? `unreadable ${typeof thrown}`;
  return { errorClass, errorText: cutToBytes(stripControls(errorText), STORED_ERROR_MAX_BYTES) };
}

function classOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `thrown_${thrown === null ? 'null' : typeof thrown}`;
  const candidates = [read(thrown, 'code'), read(thrown, 'name')];
  return candidates.find((value): value is string => typeof value === 'string' && CLASS.test(value)) ?? 'Error';
}

function textOf(thrown: unknown, causes: number): string {
  if (thrown instanceof Error) {
    const own = read(thrown, 'message');
    const inner = thrown instanceof AggregateError ? read(thrown, 'errors') : undefined;
    // Node reports "all addresses refused" as an AggregateError without a message.
    const text = own === '' && Array.isArray(inner) ? inner.map((one) => textOf(one, 0)).join('; ') : own;
    const cause = causes > 0 ? read(thrown, 'cause') : undefined;
    const shown = typeof text === 'string' ? text : 'error whose message cannot be read';
    return cause === undefined || cause === null ? shown : `${shown} (cause: ${textOf(cause, causes - 1)})`;
  }
  if (typeof thrown === 'object' && thrown !== null) {
    const message = read(thrown, 'message');
    return typeof message === 'string'
      ? message
      : `thrown ${Array.isArray(thrown) ? 'array' : 'object'} without message`;
  }
  return typeof thrown === 'function' ? 'thrown function' : String(thrown);
}

function read(from: object, name: string): unknown {
  return attempt(() => (from as Readonly<Record<string, unknown>>)[name]);
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
