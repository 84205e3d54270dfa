import type { Command } from 'commander';
import { command, type DatabaseOptions, does, jsonOption, withDatabaseOptions } from '../command.js';
import { withSession } from '../compose.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { findEffects } from '../find-effects.js';
import { effectFileLines } from '../render/effects.js';

interface ShowOptions extends DatabaseOptions {
  readonly payload?: boolean;
  readonly json?: boolean;
}

export function showCommand(context: Context): Command {
  return withDatabaseOptions(
    command(
      'show',
      'one effect with every attempt',
      'Shows where an effect is and every attempt. ID is the number of an effect; KEY that of a decision (all its effects), KEY/NAME one of them, or an explicit idempotency key.',
    )
      .argument('<id|key[/name]>', 'which effect')
      .option('--payload', 'show the payload and headers, too; they can hold personal data')
      .addOption(jsonOption()),
  ).action(
    does(context, (word: string, options: ShowOptions) =>
      withSession(context, options, async ({ reader, suggest }) => {
        const file = await reader.file(await findEffects(reader, word, suggest));
        const { terminal } = context;
        if (options.json === true) {
          terminal.json(
            file.effects.map(({ payload, headers, ...effect }) => ({
              ...effect,
              ...(options.payload === true ? { payload, headers } : {}),
              attempts_made: file.attempts.filter(({ effect_id }) => effect_id === effect.effect_id),
              outcomes: file.outcomes.filter(({ effect_id }) => effect_id === effect.effect_id),
              requests: file.requests.filter(({ effect_id }) => effect_id === effect.effect_id),
            })),
          );
        } else {
          terminal.lines(effectFileLines(file, options.payload === true, terminal.columns));
        }
        return EXIT.ok;
      }),
    ),
  );
}
