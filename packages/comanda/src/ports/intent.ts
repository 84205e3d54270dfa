/** Who decided. Agents act on behalf of somebody; the whole chain is kept. */
export interface Actor {
  readonly type: 'human' | 'agent' | 'system';
  readonly id: string;
  readonly onBehalfOf?: Actor;
}

/** What can be said about one effect besides its payload. */
export interface EffectOptions {
  /** Name within the decision; part of the derived idempotency key `<decision key>/<name>`. Default: the kind. At most 128 bytes, no `/`. */
  readonly name?: string;
  /** Explicit idempotency key, unique in the installation; replaces the derived one. At most 512 bytes, no `/`. */
  readonly key?: string;
  /** Effects with one ordering key happen in commit order, one after the other. At most 512 bytes. Without it: oldest first, in parallel. */
  readonly orderingKey?: string;
  /** Version of the subject that the effect was decided for; travels to the target. */
  readonly subjectVersion?: number | bigint;
  /** Headers for the target, e.g. `traceparent`. Default: those of the decision. Never hashed. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Earliest start, in milliseconds from now, at most 400 days. */
  readonly delayMs?: number;
  /** Earliest start, at most 400 days ahead. A text must be ISO 8601 with an offset. */
  readonly dueAt?: Date | string;
  /** Time in which the effect can still be taken back exactly, in milliseconds, at most 400 days. */
  readonly cancelWindowMs?: number;
}

/** An effect that a decision implies. */
export interface EffectIntent extends EffectOptions {
  readonly kind: string;
  /** Version of the kind. Default: 1. */
  readonly version?: number;
  /** Named destination. What the deployment published for the kind goes first. Default: the kind. */
  readonly target?: string;
  /** Any JSON value; bigint and `rawJson` keep every digit. Default: `{}`. At most 1 MiB as stored. */
  readonly payload?: unknown;
}

/** A business decision and every external effect that it implies. */
export interface Decision {
  /** Business key: the same key is the same decision. 1 to 512 bytes. */
  readonly key: string;
  /** What it is about, e.g. `order:ORD-2041`. At most 512 bytes. Part of what is hashed. */
  readonly subject?: string;
  readonly kind?: string;
  readonly actor?: Actor;
  readonly tenant?: string;
  readonly reason?: string;
  /** What made it happen, e.g. `webhook:orders`. */
  readonly trigger?: string;
  readonly workflowVersion?: string;
  readonly endpointClass?: string;
  readonly model?: string;
  readonly modelRevision?: string;
  readonly validation?: string;
  readonly repairs?: number;
  /** Minimised output of a model, or a pointer to it. */
  readonly output?: string;
  /** Headers for every effect that has none of its own, e.g. `traceparent`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly effects: readonly EffectIntent[];
}

/** What was decided under a key. */
export interface Decided {
  readonly runId: string;
  /** `false`: the decision existed already, with the same content. That is success. */
  readonly created: boolean;
  readonly key: string;
  readonly state: string;
  /** SHA-256 of subject and effects as stored, hexadecimal. */
  readonly effectsHash: string;
  readonly decidedAt: string;
}
