/** What the target of a kind guarantees, and what is done when nobody knows: the four cases of the effect contract. */
export type KindName = 'keyed' | 'natural' | 'looked_up' | 'ask_human';

export const KINDS: readonly KindName[] = ['keyed', 'natural', 'looked_up', 'ask_human'];

/** The SMTP kind, of its own path. */
export const MAIL = 'mail';

/** What a payload holds: which effect of the path it is, and what the provider is to do at its first requests. */
export interface Payload {
  readonly run: string;
  readonly ref: string;
  readonly behave?: readonly Behaviour[];
}

/**
 * What the provider does with one request: `ok`, a status without having accepted, `drop` (accepts, breaks the connection), `late` (accepts, answers
 * after the timeout), `slow` (accepts, answers within the timeout but after a while), `long` (accepts and answers after more than a lease).
 * The last one of a list is not repeated: what comes after it is `ok`, unless it is `always 400`.
 */
export type Behaviour = 'ok' | '400' | '401' | '429' | '500' | 'drop' | 'late' | 'slow' | 'long' | 'always 400';
