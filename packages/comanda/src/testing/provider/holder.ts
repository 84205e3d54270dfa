import type { Fault, ProviderDouble, ReceivedRequest } from './types.js';

/** The part of a double that decides what goes wrong and keeps what waits; the same for every protocol. */
export interface Holder extends Pick<ProviderDouble, 'next' | 'plan' | 'holding' | 'onHold' | 'release'> {
  /** What goes wrong with this request. */
  faultOf(request: ReceivedRequest): Fault | undefined;
  /** Keeps something until `release()`. */
  hold(resume: () => void): void;
  /** Forgets whatever waits, and everything that was to go wrong. */
  clear(): void;
}

export function createHolder(): Holder {
  let queued: (Fault | undefined)[] = [];
  let planned: ((request: ReceivedRequest) => Fault | undefined) | undefined;
  let waiting: (() => void)[] = [];
  const listeners = new Set<() => void>();
  return {
    next: (...faults) => void queued.push(...faults),
    plan: (decide) => {
      planned = decide;
    },
    faultOf: (request) => (queued.length > 0 ? queued.shift() : planned?.(request)),
    get holding() {
      return waiting.length;
    },
    onHold: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    hold: (resume) => {
      waiting.push(resume);
      for (const listener of listeners) listener();
    },
    release: () => {
      for (const resume of waiting.splice(0)) resume();
    },
    clear: () => {
      queued = [];
      planned = undefined;
      waiting = [];
    },
  };
}
