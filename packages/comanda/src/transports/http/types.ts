import type { Duration } from '../../kernel/durations.js';
import type { Idempotency, Risk } from '../../ports/effect-kind.js';
import type { KeyProfile } from '../../ports/idempotency.js';
import type { Evidence } from '../../ports/outcome.js';
import type { HttpTransport } from './transport.js';

/** What a request is made from. */
export interface HttpEffect<Input = unknown> {
  /** The payload, parsed without rounding: large integers are bigint. */
  readonly input: Input;
  /** The payload exactly as stored. */
  readonly payloadText: string;
  readonly idempotencyKey: string;
  /** The key as the target gets it: percent-encoded for a header, a digest when it is too long. What to ask a look-up for, and what a body of one's own must carry. */
  readonly sentKey: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly fence: string;
  readonly subject: string;
  readonly subjectVersion: string | null;
}

/** A request. Redirects are never followed. */
export interface HttpRequest {
  /** Absolute `http:` or `https:` URL without user and password. */
  readonly url: string;
  /** Default: `POST` (`GET` for look-ups). */
  readonly method?: string;
  /** Their values are taken for secrets: they are masked wherever an answer or error repeats them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Default for POST, PUT and PATCH: the stored payload, byte for byte. `null`: no body. */
  readonly body?: string | Uint8Array | null;
}

/** What the provider answered. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; repeated headers are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** At most 1 MiB is read. */
  readonly text: string;
  /** `false` when the body was cut by that limit, by the timeout or by the provider. */
  readonly complete: boolean;
  /** The body parsed without rounding; `undefined` when it is not JSON. */
  json(): unknown;
}

/** A request, or a function that makes it. A function may be asynchronous (to fetch a token), and must not send the effect itself. */
export type HttpRequestSource<Input> =
  | HttpRequest
  | ((effect: HttpEffect<Input>) => HttpRequest | Promise<HttpRequest>);

/** What a look-up found; with evidence, or as one word. */
export type HttpFinding =
  | 'applied'
  | 'absent'
  | 'cannotTell'
  | (Evidence & { readonly found: 'applied' | 'absent' | 'cannotTell' });

/** How an effect with an unknown outcome is looked up at the provider. */
export interface HttpLookup<Input> {
  /** Default method: GET. The look-up carries the current fence, so that targets that compare fences refuse older sends. */
  readonly request: HttpRequestSource<Input>;
  /** Default: 2xx = applied, 404 = absent, everything else = cannotTell. */
  readonly read?: (response: HttpResponse, effect: HttpEffect<Input>) => HttpFinding;
}

/** An effect kind that is one HTTP request. */
export interface HttpEffectDefinition<Input = unknown> {
  readonly kind: string;
  /** Default: the kind. Kinds of one target share its breaker, pauses and limits. */
  readonly target?: string;
  /** Default: 1. */
  readonly version?: number;
  readonly risk: Risk;
  /** How the target recognises a repeated request: a word, or what it guarantees about keys (`profiles.stripe`, …). */
  readonly idempotency: Idempotency | KeyProfile;
  /** What to do with an unknown outcome. Default: `reconcile` when there is one, else `ask-human`. */
  readonly onUnknown?: 'reconcile' | 'ask-human';
  /** Connecting, headers and body together. Default: 20 s. */
  readonly timeout?: Duration;
  readonly retry?: {
    /** Default: 8. */
    readonly maxAttempts?: number;
    /** Doubles after each attempt, with full jitter. */
    readonly backoff?: 'exponential';
    /** Default: 1 s. */
    readonly baseDelay?: Duration;
    /** Default: 10 min. */
    readonly maxDelay?: Duration;
  };
  /** Effects of this kind that one relay executes at the same time. Default: 16. */
  readonly concurrency?: number;
  /** `skip` cancels an effect, unsent, whose subject has a newer decided version. Only for kinds that carry the whole state. Default: `send`. */
  readonly stale?: 'send' | 'skip';
  /** Cancels an effect, unsent, that is older than this at its turn; counted from its decision, or from when it was due. Default: never. */
  readonly maxAge?: Duration;
  /** Dotted paths of the payload and of answers, e.g. `customer.email`, whose values never enter stored evidence. */
  readonly redact?: readonly string[];
  /** Values that must never be stored: masked wherever answers and errors repeat them, as those of request headers are. */
  readonly secrets?: readonly string[];
  /** Checks the payload at claim; returns what is wrong with it. */
  readonly validate?: (input: unknown) => Promise<readonly string[]>;
  readonly request: HttpRequestSource<Input>;
  /** Decides whether an answer means that the effect happened. Default: every 2xx. `false` on a 2xx is a failed effect. */
  readonly success?: (response: HttpResponse) => boolean;
  /** How to look up an unknown outcome. */
  readonly reconcile?: HttpLookup<Input> | ((effect: HttpEffect<Input>, signal: AbortSignal) => Promise<HttpFinding>);
  /** Where the provider's identifier is: a JSON pointer into the answer (`/id`), or a function. Default: not kept. */
  readonly providerId?: string | ((response: HttpResponse) => string | undefined);
  /** Header that carries the key when `idempotency` is the word `key`. Default: `Idempotency-Key`. `false`: the request carries it by itself. A profile has its own `carrier`. */
  readonly idempotencyHeader?: string | false;
  /**
   * `fresh` opens a connection for each request. A kept connection that the provider is just closing makes the outcome
   * unknown, so kinds with idempotency `none` default to `fresh`; the others to `keep-alive`.
   */
  readonly connection?: 'keep-alive' | 'fresh';
  /** Shared by several kinds. Default: one of its own, made at the first request. */
  readonly transport?: HttpTransport;
  /** See {@link HttpTransportOptions}; only without `transport`. */
  readonly allowPrivateAddresses?: true | readonly string[];
}
