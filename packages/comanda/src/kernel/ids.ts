import { randomUUID } from 'node:crypto';

/** A source of numbers in [0, 1), as a parameter of what needs jitter. */
export type Random = () => number;

/** The only source of chance in the product that is not an identifier or a secret. */
export const systemRandom: Random = () => Math.random();

/** A random identifier (UUID version 4), e.g. of one start of a relay. */
export function newId(): string {
  return randomUUID();
}
