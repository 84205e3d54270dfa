/**
 * A request to stop, with a reason. What an AbortController is, but without cost until somebody looks at the signal:
 * a relay makes two of these for every effect, and AbortSignals are expensive to collect.
 */
export class Stop {
  #reason: Error | undefined;
  #listeners: Set<(reason: Error) => void> | undefined;
  #controller: AbortController | undefined;

  /** Why it was stopped; `undefined` while it goes on. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** The signal for code that wants one; made at the first look. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Stops. The first reason stays. */
  stop(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    this.#controller?.abort(reason);
    for (const listener of listeners) listener(reason);
  }

  /** Calls `listener` when it is stopped; at once when it is already. */
  add(listener: (reason: Error) => void): void {
    if (this.#reason !== undefined) listener(this.#reason);
    else {
      this.#listeners ??= new Set();
      this.#listeners.add(listener);
    }
  }

  /** The listener is no longer interested. */
  remove(listener: (reason: Error) => void): void {
    this.#listeners?.delete(listener);
  }
}
