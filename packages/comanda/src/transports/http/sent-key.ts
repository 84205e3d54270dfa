import { createHash } from 'node:crypto';
import type { KeyCarrier } from '../../ports/idempotency.js';

/** How the key of an effect reaches the target. */
export interface KeyTravel {
  /** `undefined` when the request carries the key by itself. */
  readonly carrier: KeyCarrier | undefined;
  readonly keyMaxBytes: number;
}

const PREFIX = 'sha256-';

/**
 * The key as the target gets it, the same on every attempt: percent-encoded where a header could not carry it; a digest of it when it is longer than the
 * target accepts.
 */
export function sentKey(key: string, { carrier, keyMaxBytes }: KeyTravel): string {
  const text = carrier !== undefined && 'header' in carrier ? headerText(key) : key;
  return Buffer.byteLength(text) <= keyMaxBytes ? text : digest(key, keyMaxBytes);
}

/**
 * Any text as a header value. Keys are free text, headers are not: everything but visible ASCII, and `%` itself, is
 * percent-encoded, so that different keys stay different.
 */
export function headerText(text: string): string {
  return text.replace(/[^\x21-\x7e]|%/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
}

/** 43 characters of base64url, with a prefix where there is room for it. The shortest that a profile allows, 32, still holds 192 bits. */
function digest(key: string, maxBytes: number): string {
  const hash = createHash('sha256').update(key).digest('base64url');
  return PREFIX.length + hash.length <= maxBytes ? PREFIX + hash : hash.slice(0, maxBytes);
}
