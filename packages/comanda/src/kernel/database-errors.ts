import { ComandaError, isComandaError } from './comanda-error.js';
import { ERRORS, type ErrorCode, type ErrorEntry } from './error-registry.js';

/** Drivers and ORMs hide the database's error under different names; these are followed, outermost first. */
const WRAPPER_PROPERTIES = ['cause', 'driverError', 'originalError', 'original', 'meta', 'driverAdapterError'] as const;
const MAX_WRAPPERS = 6;

/** Five characters of which at least one is a digit: keeps `EPIPE` out. Class `P` has only `P0`; `P2010` is Prisma's own. */
const SQLSTATE = /^(?!P[1-9])(?=.*\d)[0-9A-Z]{5}$/;

const SERIALIZATION_STATES: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);
const SCHEMA_MISSING_STATES: ReadonlySet<string> = new Set(['3F000', '42P01', '42883']);
/** Class 08 (connection), too many connections, shutdown and restart, idle sessions that the server ended. */
const CONNECTION_STATES = /^(08...|53300|57P01|57P02|57P03|57P05|25P03)$/;
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  // postgres.js
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
]);
/** `pg` gives lost connections no code at all, so there is nothing but the text. */
const CONNECTION_MESSAGE =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;

const CODE_BY_SQLSTATE: ReadonlyMap<string, ErrorCode> = new Map(
  (Object.entries(ERRORS) as [ErrorCode, ErrorEntry][]).flatMap(([code, entry]) =>
    entry.sqlstate === undefined ? [] : [[entry.sqlstate, code] as const],
  ),
);

/** The SQLSTATE of a driver's error, found through the wrappers of ORMs; `undefined` when there is none. */
export function sqlstateOf(error: unknown): string | undefined {
  for (const layer of layers(error)) {
    for (const name of ['sqlstate', 'code', 'originalCode'] as const) {
      const value = layer[name];
      if (typeof value === 'string' && SQLSTATE.test(value)) return value;
    }
  }
  return undefined;
}

/**
 * Maps an error of the database to a ComandaError by its SQLSTATE, never by its text. The original stays as `cause`.
 * Errors that are not ours to explain come back unchanged.
 */
export function fromDatabaseError(error: unknown): unknown {
  if (isComandaError(error)) return error;
  const sqlstate = sqlstateOf(error);
  if (sqlstate === undefined) return error;
  const code = codeFor(sqlstate);
  if (code === undefined) return error;
  const raised = layers(error).find((layer) => typeof layer['message'] === 'string' && layer['detail'] !== undefined);
  const text = own(code) ? messageOf(error) : ERRORS[code].summary.replace('{sqlstate}', sqlstate);
  return new ComandaError({
    code,
    message: `${text} ${ERRORS[code].whatToDo}`,
    details: detailsOf(raised),
    sqlstate,
    cause: error,
  });
}

/** Whether repeating the whole transaction can succeed: serialization failure, deadlock, lock timeout, lost connection. */
export function isRetryableDatabaseError(error: unknown): boolean {
  if (isComandaError(error, 'COMANDA_RETRYABLE')) return true;
  const sqlstate = sqlstateOf(error);
  if (sqlstate !== undefined) return SERIALIZATION_STATES.has(sqlstate) || CONNECTION_STATES.test(sqlstate);
  return layers(error).some(
    (layer) =>
      (typeof layer['code'] === 'string' && CONNECTION_CODES.has(layer['code'])) ||
      (typeof layer['message'] === 'string' && CONNECTION_MESSAGE.test(layer['message'])),
  );
}

function codeFor(sqlstate: string): ErrorCode | undefined {
  if (SERIALIZATION_STATES.has(sqlstate)) return 'COMANDA_RETRYABLE';
  if (SCHEMA_MISSING_STATES.has(sqlstate)) return 'COMANDA_SCHEMA_MISSING';
  return CODE_BY_SQLSTATE.get(sqlstate);
}

function own(code: ErrorCode): boolean {
  return 'sqlstate' in ERRORS[code];
}

function messageOf(error: unknown): string {
  // The innermost message is the database's own; outer ones repeat the statement and its parameters.
  const texts = layers(error).flatMap((layer) => (typeof layer['message'] === 'string' ? [layer['message']] : []));
  const text = (texts.at(-1) ?? 'The database refused the call').trim();
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** DETAIL is a JSON object when one of our functions raised the error, and prose otherwise. */
function detailsOf(layer: Readonly<Record<string, unknown>> | undefined): Record<string, unknown> {
  const detail = layer?.['detail'];
  const hint = layer?.['hint'];
  const rest = typeof hint === 'string' && hint !== '' ? { hint } : {};
  if (typeof detail !== 'string' || detail === '') return rest;
  try {
    const parsed: unknown = JSON.parse(detail);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return { ...parsed, ...rest };
  } catch {
    // prose
  }
  return { detail, ...rest };
}

function layers(error: unknown): Readonly<Record<string, unknown>>[] {
  const found: Readonly<Record<string, unknown>>[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || found.length >= MAX_WRAPPERS) return;
    const layer = value as Readonly<Record<string, unknown>>;
    if (found.includes(layer)) return;
    found.push(layer);
    for (const name of WRAPPER_PROPERTIES) visit(layer[name]);
  };
  visit(error);
  return found;
}
