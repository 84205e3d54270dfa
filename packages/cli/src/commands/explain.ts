import { buildStory, nearKeys, readStory } from 'comanda/internal';
import type { Command } from 'commander';
import { command, type DatabaseOptions, does, jsonOption, withDatabaseOptions } from '../command.js';
import { withSession } from '../compose.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { nearText, storyLines } from '../render/story.js';

interface ExplainOptions extends DatabaseOptions {
  readonly json?: boolean;
}

export function explainCommand(context: Context): Command {
  return withDatabaseOptions(
    command(
      'explain',
      'the story of one key, in plain words',
      'Tells who decided, when and why, each effect and each attempt, what the provider said, who asked for what, what happens next and when, and what a person can do. KEY is that of a decision, of one of its effects (KEY/NAME), or an explicit idempotency key.',
    )
      .argument('<key>', 'which decision')
      .addOption(jsonOption()),
  ).action(
    does(context, (key: string, options: ExplainOptions) =>
      withSession(context, options, async ({ db, schema, suggest }) => {
        const source = await readStory(db, schema, key);
        if (source === undefined) {
          const near = await nearKeys(db, schema, key);
          throw new CliError('CLI_NOT_FOUND', EXIT.notFound, nearText(key, near, suggest));
        }
        const story = buildStory(source);
        if (options.json === true) {
          const { run, file, relays, switches } = source;
          const effects = file.effects.map(({ payload: _payload, headers: _headers, ...effect }) => effect);
          context.terminal.json({
            story,
            run,
            effects,
            attempts: file.attempts,
            outcomes: file.outcomes,
            requests: file.requests,
            relays,
            switches,
          });
        } else {
          context.terminal.lines(storyLines(story, suggest, context.terminal.columns));
        }
        return EXIT.ok;
      }),
    ),
  );
}
