import { createHash } from 'node:crypto';

const ID_HEX_CHARS = 48;
/** A dot-atom (RFC 5322, 3.2.3) made of host name characters; domains beyond ASCII travel in their `xn--` form. */
const DOMAIN = /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/**
 * The Message-ID of an effect (RFC 5322, 3.6.4): a function of its idempotency key and the domain alone, so that every attempt and every later resend carries the same one.
 * Keys are free text, so they are hashed; 192 bits of SHA-256.
 *
 * @param idempotencyKey key of the effect
 * @param domain right side, e.g. `shop.example`
 */
export function messageIdOf(idempotencyKey: string, domain: string): string {
  return `<${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, ID_HEX_CHARS)}@${domain}>`;
}

/** Whether a text can be the right side of a Message-ID. */
export function isDomain(text: string): boolean {
  return DOMAIN.test(text);
}
