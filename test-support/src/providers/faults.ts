import { randomOf } from '../random.js';

/**
 * What can go wrong with one request. Before acceptance: `error500`, `tooMany` (429 with Retry-After), `conflict` (409),
 * `dropBefore` (connection reset), `refuse` (`refuseStatus`), `hang` (never answered); nothing has happened then. `slow` is
 * accepted and answered after `slowMs`, also when the client has gone. After acceptance: `acceptDrop` (connection reset
 * instead of an answer), `acceptSlow` (answered after `slowMs`).
 */
export const FAULTS = [
  'error500',
  'tooMany',
  'conflict',
  'dropBefore',
  'refuse',
  'hang',
  'slow',
  'acceptDrop',
  'acceptSlow',
] as const;

export type Fault = (typeof FAULTS)[number];

/** Body of `POST /_control`. Only what is named changes. */
export interface Control {
  /** `hang` and `refuse` hit every request, look-ups included. */
  readonly mode?: 'normal' | 'hang' | 'refuse';
  /** The mode falls back to `normal` after this time. Default: it stays. */
  readonly forMs?: number;
  /** Status of `refuse`. Default 503. */
  readonly refuseStatus?: number;
  /** Probability of each fault, 0 to 1; together at most 1. Replaces all earlier rates. */
  readonly rates?: Partial<Record<Fault, number>>;
  /** What happens to the next requests, in order, before the rates apply again. Appended to what is left. */
  readonly script?: readonly (Fault | 'none')[];
  /** Default 1000. */
  readonly slowMs?: number;
  /** Seconds in Retry-After; 0 leaves the header out. Default 1. */
  readonly retryAfterS?: number;
  /** Starts the random numbers again. */
  readonly seed?: number;
}

export interface Faults {
  readonly slowMs: number;
  readonly retryAfterS: number;
  readonly refuseStatus: number;
  /** The fault that hits everything at the moment. */
  mode(): 'hang' | 'refuse' | undefined;
  /** The fault of the next request. One random number is drawn per call. */
  next(): Fault | undefined;
  /** Throws a RangeError or TypeError that names what is wrong. */
  control(change: Control): void;
}

export function createFaults(seed: number): Faults {
  let random = randomOf(seed);
  let rates: Partial<Record<Fault, number>> = {};
  const script: (Fault | 'none')[] = [];
  let mode: NonNullable<Control['mode']> = 'normal';
  let until = Number.POSITIVE_INFINITY;
  const settings = { slowMs: 1000, retryAfterS: 1, refuseStatus: 503 };
  return {
    get slowMs() {
      return settings.slowMs;
    },
    get retryAfterS() {
      return settings.retryAfterS;
    },
    get refuseStatus() {
      return settings.refuseStatus;
    },
    mode() {
      if (mode === 'normal' || performance.now() >= until) return undefined;
      return mode;
    },
    next() {
      const draw = random();
      const scripted = script.shift();
      if (scripted) return scripted === 'none' ? undefined : scripted;
      return pick(rates, draw);
    },
    control(change) {
      check(change);
      if (change.rates) rates = change.rates;
      if (change.script) script.push(...change.script);
      if (change.seed !== undefined) random = randomOf(change.seed);
      if (change.mode) {
        mode = change.mode;
        until = change.forMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + change.forMs;
      }
      settings.slowMs = change.slowMs ?? settings.slowMs;
      settings.retryAfterS = change.retryAfterS ?? settings.retryAfterS;
      settings.refuseStatus = change.refuseStatus ?? settings.refuseStatus;
    },
  };
}

const KNOWN = ['mode', 'forMs', 'refuseStatus', 'rates', 'script', 'slowMs', 'retryAfterS', 'seed'];
const MODES: readonly unknown[] = ['normal', 'hang', 'refuse'];

function check(change: Control): void {
  for (const name of Object.keys(change)) {
    if (!KNOWN.includes(name)) throw new TypeError(`unknown control "${name}"; known are ${KNOWN.join(', ')}`);
  }
  if (change.mode !== undefined && !MODES.includes(change.mode)) throw new TypeError(`unknown mode "${change.mode}"`);
  const faults: readonly string[] = FAULTS;
  for (const name of [...Object.keys(change.rates ?? {}), ...(change.script ?? []).filter((f) => f !== 'none')]) {
    if (!faults.includes(name)) throw new TypeError(`unknown fault "${name}"; known are ${FAULTS.join(', ')}`);
  }
  const all = Object.values(change.rates ?? {});
  const sum = all.reduce((a, b) => a + b, 0);
  if (all.some((rate) => !(rate >= 0)) || sum > 1 + 1e-9) throw new RangeError(`rates are 0 to 1 in all, not ${sum}`);
}

function pick(rates: Partial<Record<Fault, number>>, draw: number): Fault | undefined {
  let from = 0;
  for (const fault of FAULTS) {
    from += rates[fault] ?? 0;
    if (draw < from) return fault;
  }
  return undefined;
}
