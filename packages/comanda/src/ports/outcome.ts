/** What an attempt to execute an effect came to. `perform` returns one; transports make them from the provider's answer. */
export type Outcome = Completed | Retry | Failed | Unknown;

/** What the provider said, kept with the attempt. Texts are redacted and cut to the stored-response limit before they are written. */
export interface Evidence {
  /** The provider's own identifier of the operation, e.g. `re_123`. */
  readonly providerId?: string;
  /** HTTP status or the protocol's equivalent. */
  readonly status?: number;
  /** Short class of the error, e.g. `ECONNREFUSED`, `http_503`, `timeout`. */
  readonly errorClass?: string;
  /** Human-readable text of the error. */
  readonly errorText?: string;
  /** The provider's answer, cut to the stored-response limit. */
  readonly response?: string;
}

/** The effect happened. */
export interface Completed extends Evidence {
  readonly outcome: 'completed';
}

/** The effect did not happen now and may be tried again. */
export interface Retry extends Evidence {
  readonly outcome: 'retry';
  /** `true` when no byte of the request can have reached the provider, or the provider said that nothing was done. */
  readonly notSent: boolean;
  /** Lower bound of the wait before the next attempt, in milliseconds (e.g. from Retry-After). Jitter only adds to it. */
  readonly afterMs?: number;
  /** `false` gives the attempt back (rate limits: the provider asked for patience, the effect is not at fault). Default `true`. */
  readonly burnsAttempt?: boolean;
  /** Asks all relays to leave the whole target alone for `afterMs` (429 and 503 with Retry-After); `here`: only this relay, because something of its own process is broken. */
  readonly pausesTarget?: boolean | 'here';
  /** The target does not let us in at all (401, 403): its breaker opens at once, and one probe at a time finds out when that is over. */
  readonly breaksTarget?: boolean;
}

/** The effect can never succeed as it is: a dead letter. */
export interface Failed extends Evidence {
  readonly outcome: 'failed';
}

/** The effect may have happened. It is reconciled or put before a person, never blindly sent again. */
export interface Unknown extends Evidence {
  readonly outcome: 'unknown';
}

/** What a look-up at the provider found. `absent` is believed only after lease end + timeout of the last attempt. */
export type ReconcileResult =
  | (Evidence & { readonly found: 'applied' })
  | (Evidence & { readonly found: 'absent' })
  | (Evidence & { readonly found: 'cannotTell' });
