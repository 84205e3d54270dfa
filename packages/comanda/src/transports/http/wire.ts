import { comandaError } from '../../kernel/errors.js';
import type { PerformContext } from '../../ports/effect-kind.js';
import { withKeyInBody } from './body-key.js';
import { headerText, type KeyTravel, sentKey } from './sent-key.js';
import type { HttpRequest } from './types.js';

/** A request as it goes out. */
export interface WireRequest {
  readonly origin: string;
  readonly hostname: string;
  readonly path: string;
  readonly method: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | null;
  /** Values that must not be stored when an answer or error repeats them. */
  readonly secrets: readonly string[];
}

/** What the transport adds to the caller's own headers. */
export interface WireOptions {
  readonly defaultMethod: 'GET' | 'POST';
  /** `undefined` when the request needs no key. */
  readonly key: KeyTravel | undefined;
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** What a header can carry. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Methods whose body is the payload unless the request has one of its own. */
export const METHODS_WITH_PAYLOAD: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
/** Framing is the client's business; a wrong value here is how requests are smuggled. */
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Headers whose values are no secrets. Every other one is treated as a secret. */
const OPEN =
  /^(?:accept(?:-.*)?|content-.*|user-agent|date|from|host|origin|prefer|referer|x-request-id|x-correlation-id)$/;
const SECRET_PARAMETER = /key|token|secret|sig|pass|auth|credential/i;
const TRACE_HEADERS = ['traceparent', 'tracestate'] as const;

/**
 * Completes a request: defaults, key, fence, subject version, trace context.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG when URL, method or headers are not valid; its text holds no header value
 * @throws an unfit error when the payload has no place for the key
 */
export function wireRequest(request: HttpRequest, context: PerformContext, options: WireOptions): WireRequest {
  const url = parseUrl(request.url);
  const method = request.method?.toUpperCase() ?? options.defaultMethod;
  if (!TOKEN.test(method) || method === 'CONNECT') throw invalid(`the method ${JSON.stringify(method)} cannot be sent`);
  const hasPayload = METHODS_WITH_PAYLOAD.has(method) && options.defaultMethod === 'POST';
  const payload = request.body === undefined && hasPayload;
  const body = payload ? payloadWithKey(context, options.key) : (request.body ?? null);
  const key = options.key === undefined ? undefined : sentKey(context.idempotencyKey, options.key);
  const carrier = options.key?.carrier;
  if (carrier !== undefined && 'body' in carrier && body === null) {
    throw invalid(`the idempotency key goes into the body at ${carrier.body}, and ${method} has none`);
  }
  const own = Object.entries(request.headers ?? {});
  const headers = new Map<string, readonly [name: string, value: string]>();
  const set = (name: string, value: string): void => {
    headers.set(name.toLowerCase(), [name, value]);
  };

  set('accept-encoding', 'identity');
  set('user-agent', 'comanda');
  if (body !== null) set('content-type', 'application/json');
  for (const [name, value] of own) {
    checkHeader(name, value);
    set(name, value);
  }
  // After the caller's own: these are facts about the attempt.
  if (key !== undefined && carrier !== undefined && 'header' in carrier) set(carrier.header, key);
  set('Comanda-Fence', headerText(context.fence));
  if (context.subjectVersion !== null) set('Comanda-Subject-Version', headerText(context.subjectVersion));
  for (const name of TRACE_HEADERS) {
    const value = stored(context.headers, name);
    if (value !== undefined && HEADER_VALUE.test(value)) set(name, value);
  }

  return {
    origin: url.origin,
    hostname: url.hostname,
    path: url.pathname + url.search,
    method,
    headers: [...headers.values()].flat(),
    body,
    secrets: [...own.flatMap(secretsOfHeader), ...secretsOfQuery(url)],
  };
}

function payloadWithKey({ payloadText, idempotencyKey }: PerformContext, key: KeyTravel | undefined): string {
  if (key?.carrier === undefined || !('body' in key.carrier)) return payloadText;
  return withKeyInBody(payloadText, key.carrier.body, sentKey(idempotencyKey, key));
}

/** @throws ComandaError COMANDA_INVALID_CONFIG; the text leaves out the query, which can hold credentials */
export function parseUrl(text: string): URL {
  const url = urlOf(text);
  if (url === undefined) throw invalid('the URL is not absolute, expected https://host/path');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalid(`the URL has the scheme ${url.protocol} instead of https:`);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('the URL holds a user or password; send an Authorization header');
  }
  return url;
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** @throws ComandaError COMANDA_INVALID_CONFIG naming the header, never its value */
export function checkHeader(name: string, value: unknown): void {
  if (!TOKEN.test(name)) throw invalid(`${JSON.stringify(name)} is not a header name`);
  if (FRAMING.has(name.toLowerCase())) throw invalid(`the header ${name} is set by the transport`);
  if (typeof value !== 'string' || !HEADER_VALUE.test(value)) {
    throw invalid(`the value of the header ${name} is not a text without line breaks and beyond-Latin-1 characters`);
  }
}

function secretsOfHeader([name, value]: readonly [string, string]): string[] {
  if (OPEN.test(name.toLowerCase())) return [];
  const [scheme = '', credentials] = value.split(/ (.*)/s);
  if (credentials === undefined) return [value, ...cookieValues(value)];
  const decoded = scheme.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString() : '';
  const password = decoded.slice(decoded.indexOf(':') + 1);
  return [value, credentials, decoded, password, ...cookieValues(value)];
}

function cookieValues(value: string): string[] {
  return value.split(/;\s*/).flatMap((pair) => (pair.includes('=') ? [pair.slice(pair.indexOf('=') + 1)] : []));
}

function secretsOfQuery(url: URL): string[] {
  return [...url.searchParams].flatMap(([name, value]) => (SECRET_PARAMETER.test(name) ? [value] : []));
}

function stored(headers: Readonly<Record<string, string>>, name: string): string | undefined {
  return headers[name] ?? Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
}

function invalid(problem: string): Error {
  return comandaError('COMANDA_INVALID_CONFIG', { problem });
}
