import { isComandaError } from 'comanda';
import { fromDatabaseError, isRetryableDatabaseError, sqlstateOf } from 'comanda/internal';
import { EXIT, type ExitCode } from './exit-codes.js';

const CLI_DOCS = 'docs/reference/cli.md';

/** Errors that only the command line has. */
export type CliCode =
  | 'CLI_USAGE'
  | 'CLI_CONFIG'
  | 'CLI_UNREACHABLE'
  | 'CLI_NOT_FOUND'
  | 'CLI_DENIED'
  | 'CLI_SERVER'
  | 'CLI_UNEXPECTED';

/** An error whose text is meant for the person at the terminal. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: CliCode;
  readonly exitCode: ExitCode;

  /** @param message what happened, and what to do; whole sentences */
  constructor(code: CliCode, exitCode: ExitCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.exitCode = exitCode;
  }
}

export const usage = (message: string): CliError => new CliError('CLI_USAGE', EXIT.usage, message);
export const badConfig = (message: string, cause?: unknown): CliError =>
  new CliError('CLI_CONFIG', EXIT.usage, message, cause);

/** How a command ended badly: one line for stderr, and the exit code. */
export interface Failure {
  readonly line: string;
  readonly exitCode: ExitCode;
}

/** Judges whatever was thrown. `where` describes the database, without secrets. */
export function failureOf(thrown: unknown, where?: string): Failure {
  const error = fromDatabaseError(thrown);
  if (error instanceof CliError) return failure(error.message, error.code, `${CLI_DOCS}#exit-codes`, error.exitCode);
  if (isComandaError(error)) return failure(error.message, error.code, error.docs, exitCodeOf(error.code));
  const text = textOf(error);
  const at = where === undefined ? '' : ` at ${where}`;
  if (isUnreadableFile(error)) {
    return failure(
      `A file cannot be read: ${text}. Check the paths, also those of sslrootcert, sslcert and sslkey in the URL.`,
      'CLI_CONFIG',
      `${CLI_DOCS}#exit-codes`,
      EXIT.usage,
    );
  }
  if (error instanceof Error && sqlstateOf(error) === undefined && TLS_ONLY.test(error.message)) {
    return failure(
      `The database${at} cannot be reached over TLS: ${text}. Name the CA of the server in the URL (sslrootcert=FILE, sslmode=verify-full) and connect by a host name of its certificate; a server without TLS needs a URL without sslmode and sslrootcert.`,
      'CLI_UNREACHABLE',
      `${CLI_DOCS}#exit-codes`,
      EXIT.unreachable,
    );
  }
  if (isUnreachable(error)) {
    return failure(
      `The database${at} cannot be reached: ${text}. Check that the server runs and that host, port, database and login of the URL are right.`,
      'CLI_UNREACHABLE',
      `${CLI_DOCS}#exit-codes`,
      EXIT.unreachable,
    );
  }
  const sqlstate = sqlstateOf(error);
  if (sqlstate === '42501') {
    return failure(
      `This login may not do that: ${text}. Use a login that is a member of the role comanda_operator (acts) or comanda_reader (looks).`,
      'CLI_DENIED',
      `${CLI_DOCS}#exit-codes`,
      EXIT.unexpected,
    );
  }
  if (sqlstate === '57014') {
    return failure(
      `The database took longer than the statement timeout: ${text}. Give it more time with --statement-timeout, e.g. 60s.`,
      'CLI_UNEXPECTED',
      `${CLI_DOCS}#exit-codes`,
      EXIT.unexpected,
    );
  }
  const state = sqlstate === undefined ? '' : ` (SQLSTATE ${sqlstate})`;
  return failure(
    `Unexpected: ${text}${state}. This is not a state the program knows; please report it.`,
    'CLI_UNEXPECTED',
    `${CLI_DOCS}#exit-codes`,
    EXIT.unexpected,
  );
}

function failure(message: string, code: string, docs: string, exitCode: ExitCode): Failure {
  return { line: `comanda: ${message} (${code}, ${docs})`, exitCode };
}

function exitCodeOf(code: string): ExitCode {
  switch (code) {
    case 'COMANDA_SCHEMA_MISSING':
    case 'COMANDA_SCHEMA_VERSION':
      return EXIT.schema;
    case 'COMANDA_NOT_FOUND':
      return EXIT.notFound;
    case 'COMANDA_NOT_ADOPTED':
    case 'COMANDA_ROWS_HIDDEN':
      return EXIT.alarm;
    case 'COMANDA_INVALID_CONFIG':
    case 'COMANDA_UNSAFE_EFFECT':
    case 'COMANDA_SWITCH_INVALID':
    case 'COMANDA_INVALID_REQUEST':
    case 'COMANDA_ACTOR_REQUIRED':
      return EXIT.usage;
    default:
      return EXIT.unexpected;
  }
}

/** A refused login and an unknown database mean the same to whoever typed the URL: not this way. */
function isUnreachable(error: unknown): boolean {
  const sqlstate = sqlstateOf(error);
  if (sqlstate !== undefined) return /^(08|28|3D|53300|57P0)/.test(sqlstate);
  if (error instanceof AggregateError) return error.errors.some(isUnreachable);
  if (error instanceof Error && 'code' in error && /^(ENOENT|EACCES)$/.test(String(error.code)) && 'syscall' in error) {
    return error.syscall === 'connect';
  }
  return isRetryableDatabaseError(error) || (error instanceof Error && TLS.test(error.message));
}

/** What the driver throws before it connects when the URL names a certificate that is not there. */
function isUnreadableFile(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    /^(ENOENT|EACCES)$/.test(String(error.code)) &&
    'syscall' in error &&
    error.syscall === 'open'
  );
}

const TLS_ONLY = /support SSL|certificate|altname/i;
const TLS = /SSL|TLS|certificate|SASL|handshake/i;

/** The innermost useful text, on one line, without a closing full stop. Connecting to a name with two addresses fails with an error that has no text of its own. */
function textOf(error: unknown): string {
  const inner = error instanceof AggregateError && error.message === '' ? error.errors.at(-1) : error;
  const text = inner instanceof Error ? inner.message || inner.name : String(inner);
  return text.trim().replaceAll(/\s+/g, ' ').replace(/[.]$/, '');
}
