import { replaceInJson } from './mask-json.js';
import { cutToBytes, stripControls } from './text.js';

/** What stands in the place of a masked value. */
export const MASK = '[redacted]';

/** Values shorter than this are not masked by value: they would mask half of any text. */
const SECRET_MIN_LENGTH = 4;

const AUTHORIZATION = /\b(Bearer|Basic)(\s+)([\w.~+/=-]{4,})/gi;
const URL_PASSWORD = /:\/\/[^\s/@:"']*:[^\s/@"']+@/g;

/** What to hide, and how much of the text to keep. */
export interface Redaction {
  /** Dotted paths into JSON text, e.g. `customer.email`. Default: none. */
  readonly paths?: readonly string[];
  /** Values that must not appear anywhere, also JSON-escaped or percent-encoded. Shorter ones than 4 characters are ignored. */
  readonly secrets?: readonly string[];
  /** Bytes of UTF-8 to keep. */
  readonly maxBytes: number;
}

/**
 * Makes a text fit to be stored: control characters removed; values at paths, known secrets and whatever looks like a
 * credential masked; cut. In this order, so that nothing reassembles.
 */
export function redactText(text: string, { paths = [], secrets = [], maxBytes }: Redaction): string {
  const masked = replaceInJson(stripControls(text), paths, () => `"${MASK}"`);
  return cutToBytes(maskShapes(maskSecrets(masked, secrets)), maxBytes);
}

/** Hides what has the shape of a credential, wherever it comes from: authorization headers, passwords in URLs. */
function maskShapes(text: string): string {
  return text
    .replace(AUTHORIZATION, (all, scheme: string, space: string, rest: string) =>
      isCredential(scheme, rest) ? `${scheme}${space}${MASK}` : all,
    )
    .replace(URL_PASSWORD, `://${MASK}@`);
}

/** "Basic authentication failed" and "Bearer token missing" are sentences. */
function isCredential(scheme: string, rest: string): boolean {
  if (scheme.toLowerCase() === 'basic') return Buffer.from(rest, 'base64').toString('latin1').includes(':');
  return rest.length >= 16 || /[\d._=]/.test(rest);
}

/** Replaces every occurrence of the secrets, in the forms in which they travel. */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  const forms = new Set(secrets.filter((secret) => secret.length >= SECRET_MIN_LENGTH).flatMap(formsOf));
  // Longest first: a secret that contains another one must not leave its rest behind.
  return [...forms].sort((a, b) => b.length - a.length).reduce((rest, form) => rest.replaceAll(form, MASK), text);
}

/** The texts and numbers that JSON text holds at the paths, for masking by value wherever else they turn up. */
export function valuesAt(jsonText: string, paths: readonly string[]): string[] {
  const found: string[] = [];
  replaceInJson(jsonText, paths, (value) => {
    collect(value, found);
    return value;
  });
  return found;
}

function collect(jsonText: string, into: string[]): void {
  // Leaves only: the name of a member is no secret.
  for (const [token, isName] of jsonText.matchAll(/(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)(\s*:)?/g)) {
    if (isName === undefined) into.push(token.startsWith('"') ? unquoted(token) : token);
  }
}

function unquoted(token: string): string {
  try {
    return String(JSON.parse(token));
  } catch {
    return token.slice(1, -1);
  }
}

function formsOf(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1);
  // Some servers escape slashes in JSON, too.
  return [secret, escaped, escaped.replaceAll('/', '\\/'), percentEncoded(secret)];
}

function percentEncoded(secret: string): string {
  try {
    return encodeURIComponent(secret);
  } catch {
    return secret;
  }
}
