import type { Command } from 'commander';
import { type ActOptions, withActOptions } from '../acts.js';
import { command, does, jsonOption, withDatabaseOptions } from '../command.js';
import { withSession } from '../compose.js';
import type { Context } from '../context.js';
import { createDoors } from '../doors.js';
import { EXIT } from '../exit-codes.js';
import { cancelLines } from '../render/acts.js';

export function cancelCommand(context: Context): Command {
  return withDatabaseOptions(
    withActOptions(
      command(
        'cancel',
        'take the effects of a decision back',
        'Takes the effects of a decision back, or one of them. Exact while an effect waits; afterwards it is a request that the relay answers when the effect reaches its turn: "cancelled" if it certainly was not sent, else "too late".',
      )
        .argument('<key>', 'key of the decision')
        .argument('[name]', 'name of one of its effects; all of them without it'),
    ).addOption(jsonOption()),
  ).action(
    does(context, (key: string, name: string | undefined, options: ActOptions) =>
      withSession(context, options, async ({ db, schema, suggest }) => {
        const { by, reason } = options;
        const answers = await createDoors(db, schema).cancel({
          key,
          ...(name === undefined ? {} : { name }),
          by,
          reason,
        });
        if (options.json === true) context.terminal.json(answers);
        else context.terminal.lines(cancelLines(key, answers, suggest));
        return EXIT.ok;
      }),
    ),
  );
}
