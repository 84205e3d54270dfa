/** One line of a provider's book. */
export interface BookEntry {
  readonly event: 'received' | 'accepted' | 'replayed' | 'rejected';
  readonly kind: string;
  readonly ref: string;
  /** The idempotency key, or the Message-ID; empty when there was none. */
  readonly key: string;
  readonly body: string;
  /** Of what was accepted. */
  readonly id?: string;
}
