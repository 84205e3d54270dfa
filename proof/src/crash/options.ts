import { parseArgs } from 'node:util';

export const USAGE = `npm run crash -- [--full] [--json] [--write] [--sample N] [--seed N] [--relays 1,2] [--path NAME] [--kind NAME] [--workers N] [--within MINUTES] [--list]

  --full     kill at every boundary that was seen; without it a sample is drawn
  --within   so many minutes at most; the kills are shuffled, what is left undone is said (default: no limit)
  --sample   so many kills (default 60), of one scene for each path
  --seed     what the sample is drawn with; printed, so that a run can be repeated
  --json     the figures as one line
  --list     every boundary, and stop
  --write    the table into docs/reference/crash-table.md (with --full)
  --relays   how many relays share the work while one is killed (default 1,2)
  --path     one path only; --kind one kind only
  --workers  runs at the same time (default 6); each has a database of its own
`;

export interface Options {
  readonly full: boolean;
  readonly json: boolean;
  readonly list: boolean;
  readonly write: boolean;
  readonly sample: number;
  readonly seed: number;
  readonly workers: number;
  /** Minutes. */
  readonly within: number;
  readonly relays: readonly number[];
  readonly path: string | undefined;
  readonly kind: string | undefined;
}

/** @throws TypeError for what is not an option, and a RangeError for a number that is none */
export function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      full: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      sample: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      workers: { type: 'string', default: '6' },
      within: { type: 'string', default: '1440' },
      relays: { type: 'string', default: '1,2' },
      path: { type: 'string' },
      kind: { type: 'string' },
    },
  });
  const { full, json, list, write, path, kind } = values;
  return {
    ...{ full, json, list, write, path, kind },
    sample: whole('sample', values.sample),
    seed: whole('seed', values.seed),
    workers: whole('workers', values.workers),
    within: whole('within', values.within),
    relays: values.relays.split(',').map((text) => whole('relays', text)),
  };
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || text.trim() === '')
    throw new RangeError(`--${name} must be a whole number, not "${text}"`);
  return value;
}
