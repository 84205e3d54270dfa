import { ERRORS, type ErrorCode, type ErrorEntry } from './error-registry.js';

const SUMMARY_VALUE_LENGTH = 200;

/** What a {@link ComandaError} is made of. */
export interface ComandaErrorParts {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly sqlstate?: string;
  readonly cause?: unknown;
}

/** A broken precondition. Outcomes of effects are never errors: they are values of type `Outcome`. */
export class ComandaError extends Error {
  override readonly name = 'ComandaError';
  readonly code: ErrorCode;
  /** The values the message was made of. */
  readonly details: Record<string, unknown>;
  /** Whether repeating the call, in a new transaction, can succeed. */
  readonly retryable: boolean;
  /** The SQLSTATE, when the database raised the error. */
  declare readonly sqlstate?: string;
  /** Where the error is explained. */
  readonly docs: string;

  constructor(parts: ComandaErrorParts) {
    super(parts.message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.code = parts.code;
    this.details = { ...parts.details };
    this.retryable = ERRORS[parts.code].retry !== 'never';
    this.docs = `docs/reference/errors.md#${parts.code.toLowerCase()}`;
    if (parts.sqlstate !== undefined) this.sqlstate = parts.sqlstate;
  }
}

/**
 * Makes an error of the registry. `values` fill the placeholders of its summary and become `details`.
 * A value missing from `values` shows as `?`.
 */
export function comandaError(
  code: ErrorCode,
  values: Readonly<Record<string, unknown>> = {},
  options: { readonly cause?: unknown } = {},
): ComandaError {
  const entry: ErrorEntry = ERRORS[code];
  const summary = entry.summary.replace(/\{(\w+)\}/g, (_, name: string) => shown(values[name]));
  return new ComandaError({
    code,
    message: `${summary} ${entry.whatToDo}`,
    details: values,
    ...(entry.sqlstate === undefined ? {} : { sqlstate: entry.sqlstate }),
    cause: options.cause,
  });
}

/** Whether `value` is a ComandaError, also of another copy of this package, and has the code if one is given. */
export function isComandaError(value: unknown, code?: ErrorCode): value is ComandaError {
  if (!(value instanceof Error) || value.name !== 'ComandaError' || !('code' in value)) return false;
  return code === undefined ? typeof value.code === 'string' && value.code in ERRORS : value.code === code;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return '?';
  const text = typeof value === 'string' ? value : String(value);
  return text.length > SUMMARY_VALUE_LENGTH ? `${text.slice(0, SUMMARY_VALUE_LENGTH)}…` : text;
}
