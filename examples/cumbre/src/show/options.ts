import { parseArgs } from 'node:util';

export interface Options {
  readonly seconds: number;
  readonly seed: number;
  readonly json: boolean;
  readonly keep: boolean;
  readonly books: string | undefined;
  readonly databaseUrl: string | undefined;
}

export const HELP = `Usage: npm start -- [options]

The shop Cumbre takes orders back while its processes are killed with kill -9.
At the end the providers' own books are counted against the decisions.

  --seconds N          how long orders come in (default 25)
  --seed N             the same orders, faults and moments (default: a new one)
  --json               one line of JSON instead of the board
  --books DIR          keep the books and the decisions; recount them with
                       node examples/cumbre/recount.mjs DIR
  --keep               stay up afterwards, to look around; Ctrl-C ends it
  --database-url URL   a fresh database on this PostgreSQL 15 to 18, dropped
                       afterwards (default: an embedded server, gone afterwards)
  --help               this text

Exit code: 0 it balances, 1 it does not, 2 wrong options, 130 Ctrl-C.
`;

/** Options of the command line; a text when they are wrong, or when help was asked for. */
export function readOptions(args: readonly string[]): Options | { readonly help: true } | { readonly wrong: string } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seconds: { type: 'string', default: '25' },
        seed: { type: 'string', default: String(1 + Math.floor(Math.random() * 999_999)) },
        json: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        books: { type: 'string' },
        'database-url': { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return { help: true };
    const { json, keep, books } = values;
    const seconds = whole('--seconds', values.seconds, 1, 3_600);
    const seed = whole('--seed', values.seed, 0, 4_294_967_295);
    const databaseUrl = values['database-url'];
    if (databaseUrl !== undefined && !URL.canParse(databaseUrl)) throw new Error('--database-url is not a URL');
    return { seconds, seed, json, keep, books, databaseUrl };
  } catch (error) {
    return { wrong: error instanceof Error ? error.message : String(error) };
  }
}

function whole(name: string, text: string, min: number, max: number): number {
  const n = Number(text);
  if (/^\d+$/.test(text) && n >= min && n <= max) return n;
  throw new Error(`${name} is "${text}"; it is a whole number from ${min} to ${max}`);
}
