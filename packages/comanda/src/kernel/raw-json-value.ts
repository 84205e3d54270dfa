/** Registered, so that two copies of this package recognise each other's values; JSON text cannot produce it. */
const BRAND: unique symbol = Symbol.for('comanda.rawJson');

/** JSON text that is passed on as it is, digit by digit. */
export interface RawJson {
  /** The JSON text. */
  readonly text: string;
  /** The JSON text, so that a number kept as text prints as its digits. */
  toString(): string;
  /** What `JSON.stringify` sees: the text as a string, never a rounded number. */
  toJSON(): string;
}

/** Whether the value was made by `rawJson` or stands for a number that a double would change. */
export function isRawJson(value: unknown): value is RawJson {
  return typeof value === 'object' && value !== null && BRAND in value;
}

/** Wraps text that is known to be valid JSON. */
export function uncheckedRawJson(text: string): RawJson {
  const same = (): string => text;
  // Not enumerable: comparing and printing such values shows their text only.
  return Object.freeze(
    Object.defineProperties({ text } as RawJson, {
      toString: { value: same },
      toJSON: { value: same },
      [BRAND]: { value: true },
    }),
  );
}
