import type { Duration } from '../../../kernel/durations.js';
import type { KeyProfile } from '../../../ports/idempotency.js';
import type { HttpConditionJson } from './condition.js';
import type { HttpRequestJson } from './request-template.js';

/** The JSON form of an HTTP effect, for people who write no code. The stored payload is the body. */
export interface HttpEffectJson {
  /** The effect type, as decisions name it. */
  readonly kind: string;
  /** Default: the kind. Kinds of one target share its pauses and limits. */
  readonly target?: string;
  /** Default: 1. */
  readonly version?: number;
  /** `https://host/path?query`. Placeholders may stand in path and query. */
  readonly url: string;
  /** `POST` (default), `PUT`, `PATCH`, `DELETE` or `GET`. The first three carry the payload. */
  readonly method?: string;
  /** Names and values. Placeholders and `${env:NAME}` may stand in values. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `reversible` or `irreversible`. */
  readonly risk: 'reversible' | 'irreversible';
  /** `key`, `natural`, `none`, `profile:NAME` of a well-known provider, or what the target guarantees about keys. */
  readonly idempotency: 'key' | 'natural' | 'none' | `profile:${string}` | KeyProfile;
  /** Header of the key when `idempotency` is `key`. Default: `Idempotency-Key`. `false`: none. */
  readonly idempotencyHeader?: string | false;
  /** What an answer must look like for the effect to have happened. Default: any 2xx. */
  readonly success?: HttpConditionJson;
  /** How an unknown outcome is looked up. */
  readonly reconcile?: HttpReconcileJson;
  /** `reconcile` (default when there is one) or `ask-human`. */
  readonly onUnknown?: 'reconcile' | 'ask-human';
  /** One attempt in all. Default: 20 s. */
  readonly timeout?: Duration;
  /** When a failed attempt is repeated. */
  readonly retry?: HttpRetryJson;
  /** Effects of this kind that one relay executes at the same time. Default: 16. */
  readonly concurrency?: number;
  /** `send` (default), or `skip`: an effect whose subject has a newer decided version is cancelled, unsent. */
  readonly stale?: 'send' | 'skip';
  /** An effect older than this at its turn is cancelled, unsent. Default: never. */
  readonly maxAge?: Duration;
  /** Dotted paths of payload and answers whose values are never stored, e.g. `customer.email`. */
  readonly redact?: readonly string[];
  /** JSON pointer into the answer: where the provider's identifier is, e.g. `/id`. Default: not kept. */
  readonly providerId?: string;
  /** `keep-alive`, or `fresh`: a connection for each request. Default: `fresh` for `none`, else `keep-alive`. */
  readonly connection?: 'keep-alive' | 'fresh';
  /** Hosts, addresses and networks inside your network to which requests may go, or `true` for all. Default: none. */
  readonly allowPrivateAddresses?: true | readonly string[];
}

/** When a failed attempt is repeated. */
export interface HttpRetryJson {
  /** Default: 8. */
  readonly maxAttempts?: number;
  /** Doubles after each attempt, with full jitter. */
  readonly backoff?: 'exponential';
  /** Default: 1 s. */
  readonly baseDelay?: Duration;
  /** Default: 10 min. */
  readonly maxDelay?: Duration;
}

/** How an unknown outcome is looked up. What neither condition accepts, or both do, cannot be told. */
export interface HttpReconcileJson {
  /** Method `GET` (default) or `HEAD`; the same placeholders. */
  readonly request: HttpRequestJson;
  /** The answer that says: it happened. */
  readonly applied: HttpConditionJson;
  /** The answer that says: it did not happen. Without it nothing is ever sent again by itself. */
  readonly absent?: HttpConditionJson;
  /** JSON pointer into the answer of the look-up. Default: `providerId` of the effect. */
  readonly providerId?: string;
}
