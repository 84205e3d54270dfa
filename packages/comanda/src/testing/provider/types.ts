import type { Idempotency, KeyProfile } from '../../ports/idempotency.js';

/** An answer instead of the usual one. */
export interface FaultAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: `{"error":"status <n>"}`. */
  readonly body?: string;
  /** Whether the provider acts all the same, before it answers so. Default `false`. */
  readonly accepts?: boolean;
}

/**
 * What goes wrong with one request. `before` and `after` say whether the provider has acted when it happens.
 *
 * - `reset`: the connection is reset;
 * - `silent`: no answer comes until `release()`; a request that was silent before then acts, as one that was long under way;
 * - `malformed`: a 2xx whose body is cut in the middle;
 * - `endless`: a 2xx whose body does not end.
 */
export type Fault =
  | 'reset-before'
  | 'reset-after'
  | 'silent-before'
  | 'silent-after'
  | 'malformed'
  | 'endless'
  | FaultAnswer;

/** A request as the provider got it. */
export interface ReceivedRequest {
  /** `act`: it wants something to happen. `look-up`: it only asks. */
  readonly what: 'act' | 'look-up';
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What stood at the place where the provider looks for keys. */
  readonly key: string | undefined;
}

/** One line of the provider's book. */
export interface BookEntry extends ReceivedRequest {
  /** 1 for the first. */
  readonly number: number;
  /** By the provider's own clock, in milliseconds. */
  readonly at: number;
  /**
   * - `received`: it came, and nothing was done about it;
   * - `accepted`: the act happened;
   * - `replayed`: the provider knew it again, and nothing more happened;
   * - `rejected`: refused by the provider's own rules (key used for something else, key too long, still at work);
   * - `found`, `not-found`: a look-up's answer.
   */
  readonly verdict: 'received' | 'accepted' | 'replayed' | 'rejected' | 'found' | 'not-found';
  readonly fault?: Fault;
  /** Of the answer that was sent, if one was. */
  readonly status?: number;
  /** The client read 16 MiB of an answer that does not end. */
  readonly readWithoutEnd?: true;
}

/** What a provider says to a request that it took. */
export interface Answer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: `{"id":"act_1"}`; of look-ups also `data`, a list of what was found. */
  readonly body?: string;
}

/** Options of {@link createProviderDouble}. */
export interface ProviderDoubleOptions {
  /**
   * How the provider recognises a repetition: a word, or what its documentation says (`profiles.stripe`). Default: what the effect that is exercised declares.
   * Say it, and a declaration that promises more than the provider keeps is found.
   */
  readonly idempotency?: Idempotency | KeyProfile;
  /** Whether a request is an act. Default: every method but GET, HEAD and OPTIONS. E.g. a POST for a token is none. */
  readonly isAct?: (request: Omit<ReceivedRequest, 'what' | 'key'>) => boolean;
  /** Answers an act. */
  readonly answer?: (request: BookEntry) => Answer;
  /**
   * Answers a look-up by what was accepted. Default: 200 when a segment of the path or a value of the query is the key, the id or a value in the body of an
   * accepted act, else 404.
   */
  readonly lookUp?: (request: ReceivedRequest, accepted: readonly BookEntry[]) => Answer;
}

/** What every provider double can do, whatever it speaks. */
export interface ProviderDouble {
  readonly protocol: 'http' | 'smtp';
  /** Every request since the last {@link clear}, in order of arrival. */
  readonly book: readonly BookEntry[];
  /** The acts that happened. */
  readonly accepted: readonly BookEntry[];
  /** What goes wrong with the next requests, one each, in order. */
  next(...faults: readonly (Fault | undefined)[]): void;
  /** Decides what goes wrong with each request from now on; nothing: all goes well. */
  plan(decide?: (request: ReceivedRequest) => Fault | undefined): void;
  /** `true`: nobody listens, connections are refused. `false`: it is back on the same port. */
  down(isDown: boolean): Promise<void>;
  /** Lets the provider's clock go on: keys are forgotten when their lifetime is over. */
  elapse(ms: number): void;
  /** How many requests wait for {@link release}. */
  readonly holding: number;
  /** Called when a request begins to wait. Returns how to stop that. */
  onHold(listener: () => void): () => void;
  /** Answers whatever waits. */
  release(): void;
  /** Breaks every connection, with whatever waits on it. */
  drop(): void;
  /** As new: empty book, no keys, nothing goes wrong. */
  clear(): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
