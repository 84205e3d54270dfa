import { EFFECT_STATES } from 'comanda/internal';
import { type Command, Option } from 'commander';
import { command, type DatabaseOptions, does, jsonOption, wholeNumber, withDatabaseOptions } from '../command.js';
import { withSession } from '../compose.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { effectListLines } from '../render/effects.js';

interface ListOptions extends DatabaseOptions {
  readonly state?: string;
  readonly kind?: string;
  readonly subject?: string;
  readonly key?: string;
  readonly limit: number;
  readonly json?: boolean;
}

export function listCommand(context: Context): Command {
  return withDatabaseOptions(
    command('list', 'effects, newest first')
      .addOption(new Option('--state <state>', 'only effects in this state').choices([...EFFECT_STATES]))
      .option('--kind <kind>', 'only effects of this kind')
      .option('--subject <subject>', 'only effects about this subject, e.g. order:ORD-2041')
      .option('--key <key>', 'only the effects of this decision, or the one with this idempotency key')
      .option('--limit <n>', 'how many at most', wholeNumber(1, 10_000), 50)
      .addOption(jsonOption()),
  ).action(
    does(context, (options: ListOptions) =>
      withSession(context, options, async ({ reader, suggest }) => {
        // One more than asked for tells whether there are more.
        const found = await reader.effects({ ...options, limit: options.limit + 1 });
        const rows = found.slice(0, options.limit);
        if (options.json === true) context.terminal.json(rows);
        else
          context.terminal.lines(effectListLines(rows, found.length > rows.length, suggest, context.terminal.columns));
        return EXIT.ok;
      }),
    ),
  );
}
