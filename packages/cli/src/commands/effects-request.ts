import { type Command, Option } from 'commander';
import { type ActOptions, withActOptions } from '../acts.js';
import { command, does, jsonOption, withDatabaseOptions } from '../command.js';
import { withSession } from '../compose.js';
import type { Context } from '../context.js';
import { createDoors, type EffectRequest } from '../doors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { findOneEffect } from '../find-effects.js';
import { requestLines } from '../render/acts.js';

interface ResolveOptions extends ActOptions {
  readonly as: 'completed' | 'failed' | 'pending';
  readonly providerId?: string;
}

const APPLIED = 'A live relay applies it within moments and writes the answer; the record says who asked.';

export function skipCommand(context: Context): Command {
  return act(
    command(
      'skip',
      'let a blocked lane go on without this effect',
      `Leaves a dead letter, or an effect that was never sent, behind, so that what stands behind it in its lane goes on. Refused while the outcome is unknown. ${APPLIED}`,
    ),
  ).action(does(context, (word: string, options: ActOptions) => ask(context, word, options, 'skip', {})));
}

export function redriveCommand(context: Context): Command {
  return act(
    command(
      'redrive',
      'try a dead letter again',
      `Tries a dead letter again, under the same idempotency key, after its cause was repaired. What may have been applied, and whose key the provider may have forgotten, is looked up first. ${APPLIED}`,
    ),
  ).action(does(context, (word: string, options: ActOptions) => ask(context, word, options, 'redrive', {})));
}

export function releaseCommand(context: Context): Command {
  return act(
    command(
      'release',
      'do not let an effect wait any longer',
      `Lets a delayed effect, one in its cancel window, or one that backs off after a failure run now. Refused for what waits for an approval, and for an uncertain try: its wait is for a request that may be under way. ${APPLIED}`,
    ),
  ).action(does(context, (word: string, options: ActOptions) => ask(context, word, options, 'release', {})));
}

export function resolveCommand(context: Context): Command {
  return act(
    command(
      'resolve',
      'say what became of an unknown outcome',
      `Settles an unknown outcome on a named person's word: completed (the provider has it), failed (it does not, and it shall not be sent), pending (it does not, and it shall be sent). ${APPLIED}`,
    )
      .addOption(
        new Option('--as <outcome>', 'what became of it')
          .choices(['completed', 'failed', 'pending'])
          .makeOptionMandatory(),
      )
      .option('--provider-id <id>', "with --as completed: the provider's identifier of it"),
  ).action(
    does(context, (word: string, options: ResolveOptions) =>
      ask(context, word, options, 'resolve', {
        as: options.as,
        ...(options.providerId === undefined ? {} : { providerId: options.providerId }),
      }),
    ),
  );
}

function act(cmd: Command): Command {
  return withDatabaseOptions(
    withActOptions(cmd.argument('<id>', 'number of the effect, or KEY/NAME')).addOption(jsonOption()),
  );
}

function ask(
  context: Context,
  word: string,
  options: ActOptions,
  action: EffectRequest['action'],
  more: Pick<EffectRequest, 'as' | 'providerId'>,
): Promise<ExitCode> {
  return withSession(context, options, async ({ db, schema, reader, suggest }) => {
    const effect = await findOneEffect(reader, word, suggest);
    const { by, reason } = options;
    const answers = await createDoors(db, schema).request({ effect, action, by, reason, ...more });
    const relays = await reader.relays();
    if (options.json === true) context.terminal.json(answers);
    else
      context.terminal.lines(
        requestLines(
          answers,
          relays.some((relay) => relay.live),
          suggest,
        ),
      );
    return EXIT.ok;
  });
}
