import { parseArgs } from 'node:util';

/** What `npm run soak` was asked for. */
export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** Decisions a second, of all producers together. */
  readonly rate: number;
  /** Relays and producers reach PostgreSQL through PgBouncer in transaction mode. */
  readonly pooler: boolean;
  /** One line of JSON at the end instead of lines for people. */
  readonly json: boolean;
}

export const USAGE = `npm run soak -- [--minutes 60] [--seed N] [--rate 8] [--pooler] [--json]

Runs relays and callers for that time while they are killed, paused, cut off and restarted, then compares the providers'
books with what was decided. Exit code 0 when everything balances.`;

/** Reads the command line; throws a TypeError that says what is wrong with it. */
export function parseOptions(args: readonly string[], defaultSeed: number): SoakOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(defaultSeed) },
      rate: { type: 'string', default: '8' },
      pooler: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  return {
    minutes: numberOf('minutes', values.minutes, 0.1, 7 * 24 * 60),
    seed: numberOf('seed', values.seed, 0, 2 ** 32),
    rate: numberOf('rate', values.rate, 0.1, 200),
    pooler: values.pooler,
    json: values.json,
  };
}

function numberOf(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= least && value <= most))
    throw new TypeError(`--${name} must be a number from ${least} to ${most}, not "${text}"`);
  return value;
}
