import { DEFAULT_SCHEMA, type Duration, parseDuration } from 'comanda/internal';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Context } from './context.js';
import type { ExitCode } from './exit-codes.js';

/** A command that throws instead of ending the process. */
export function command(name: string, summary: string, description = summary): Command {
  return (
    new Command(name)
      .summary(summary)
      .description(description)
      .helpCommand(false)
      .exitOverride()
      // What is wrong is told in one place, in one form.
      .configureOutput({ outputError: () => {} })
  );
}

/** Sets what a command does; `work` resolves to the exit code. Its last arguments are the options and the command. */
export function does<Args extends readonly unknown[]>(
  context: Context,
  work: (...args: Args) => Promise<ExitCode>,
): (...args: Args) => Promise<void> {
  return async (...args) => context.done(await work(...args));
}

/** Flags by which every command names its database. */
export interface DatabaseOptions {
  readonly databaseUrl?: string;
  readonly dev?: boolean;
  readonly dataDir?: string;
  readonly schema: string;
  readonly statementTimeout: number;
}

/** Adds the flags of {@link DatabaseOptions}. */
export function withDatabaseOptions(cmd: Command): Command {
  return cmd
    .addOption(databaseUrlOption())
    .option('--dev', 'use the server that "comanda dev" runs for this folder')
    .option('--data-dir <dir>', 'with --dev: the data folder of that server')
    .addOption(schemaOption())
    .addOption(
      durationOption('--statement-timeout <duration>', 'how long one statement may take', '10s', {
        minMs: 100,
        maxMs: 3_600_000,
      }),
    );
}

export function databaseUrlOption(): Option {
  return new Option(
    '--database-url <url>',
    'connection URL, or env:NAME to take it from the variable NAME (keeps the password out of the process list)',
  );
}

export function schemaOption(): Option {
  return new Option('--schema <name>', 'name of the schema').default(DEFAULT_SCHEMA);
}

/** An option that holds a duration, as milliseconds. */
export function durationOption(
  flags: string,
  description: string,
  defaultValue: Duration,
  range: { readonly minMs?: number; readonly maxMs?: number } = {},
): Option {
  const parse = (value: string): number => {
    try {
      return parseDuration(/^\d+$/.test(value) ? Number(value) : value, flags.split(' ')[0] ?? flags, range);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? plainProblem(error) : String(error));
    }
  };
  return new Option(flags, description).argParser(parse).default(parse(String(defaultValue)), String(defaultValue));
}

/** Commander puts its own words around the problem. */
function plainProblem(error: Error): string {
  return /: (.*?)\. Correct it/.exec(error.message)?.[1] ?? error.message;
}

/** Reads a whole number of a range. */
export function wholeNumber(min: number, max: number): (value: string) => number {
  return (value) => {
    const n = Number(value);
    if (!/^\d+$/.test(value) || n < min || n > max) {
      throw new InvalidArgumentError(`A whole number from ${min} to ${max} is expected.`);
    }
    return n;
  };
}

export const jsonOption = (): Option => new Option('--json', 'print one JSON document');
