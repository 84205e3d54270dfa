import type { Command } from 'commander';
import { command, type DatabaseOptions, does, jsonOption, wholeNumber, withDatabaseOptions } from '../command.js';
import { withSession } from '../compose.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { attentionLines } from '../render/attention.js';

interface AttentionOptions extends DatabaseOptions {
  readonly json?: boolean;
  readonly limit: number;
}

export function attentionCommand(context: Context): Command {
  return withDatabaseOptions(
    command(
      'attention',
      'what waits for a person, since when, and what to do about it',
      'Lists everything that waits for a person, or should have moved by itself and did not: unknown outcomes, blocked lanes, dead letters, scopes that are switched off, kinds without a relay.',
    )
      .option('--limit <n>', 'how many at most', wholeNumber(1, 10_000), 200)
      .addOption(jsonOption()),
  ).action(
    does(context, (options: AttentionOptions) =>
      withSession(context, options, async ({ reader, suggest }) => {
        const rows = await reader.attention(options.limit);
        if (options.json === true) context.terminal.json(rows);
        else context.terminal.lines(attentionLines(rows, suggest, context.terminal.columns));
        return EXIT.ok;
      }),
    ),
  );
}
