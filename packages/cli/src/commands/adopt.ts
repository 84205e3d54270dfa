import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { type ActOptions, withActOptions } from '../acts.js';
import { command, does, jsonOption, withDatabaseOptions } from '../command.js';
import { type Session, withSession } from '../compose.js';
import type { Context } from '../context.js';
import { type AdoptedRow, createDoors } from '../doors.js';
import { environmentName } from '../environment.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { usage } from '../failure.js';
import { adoptedLines, proposalLines } from '../render/adopt.js';

interface AdoptOptions extends ActOptions {
  readonly environment?: string;
  readonly endpoint?: readonly string[];
  readonly acceptTimeline?: boolean;
  readonly yes?: boolean;
}

export function adoptCommand(context: Context): Command {
  return withActOptions(
    withDatabaseOptions(
      command(
        'adopt',
        'make this database the real one, after it was copied, restored or moved',
        [
          'Relays act only on the installation that was adopted: its server, database, timeline, environment and endpoint. On any other they hold, so that a copy never sends anything. This command makes what is here the adopted one; it shows both, and what would leave, and asks first.',
          'Adopt only when no relay works for the original any more: otherwise both send the same effects.',
        ].join('\n'),
      ),
    ),
  )
    .option('--environment <name>', 'its environment from now on (default: as it is)')
    .option(
      '--endpoint <place>',
      'where relays reach it, host:port/database; may be repeated (default: where the next relay reaches it)',
      (place: string, places: readonly string[] = []) => [...places, place],
    )
    .option(
      '--accept-timeline',
      'after a failover or a restore to an earlier moment: the providers were compared with what is pending here',
    )
    .option('--yes', 'do not ask; needed when nobody is at the terminal')
    .addOption(jsonOption())
    .action(
      does(context, (options: AdoptOptions) =>
        withSession(context, options, (session) => adopt(context, session, options)),
      ),
    );
}

async function adopt({ terminal }: Context, session: Session, options: AdoptOptions): Promise<ExitCode> {
  environmentName(options.environment, {});
  const doors = createDoors(session.db, session.schema);
  const [was, found] = await doors.fingerprints();
  if (was === undefined || found === undefined) throw new Error('the installation could not be read');
  const next: AdoptedRow = {
    ...found,
    environment: options.environment ?? was.environment,
    endpoint: options.endpoint?.join(' ') ?? null,
  };
  const [status, relays] = await Promise.all([session.reader.status(), session.reader.relays()]);
  const live = relays.filter((relay) => relay.live).length;
  // With --json standard output holds the answer only.
  (options.json === true ? terminal.notes : terminal.lines)(proposalLines(was, next, { status, live }));
  if (options.yes !== true && !(await agreed(terminal.interactive))) {
    terminal.lines(['Nothing was changed.']);
    return EXIT.ok;
  }
  const [answer] = await doors.adopt({
    by: options.by,
    reason: options.reason,
    ...(options.environment === undefined ? {} : { environment: options.environment }),
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
    ...(options.acceptTimeline === undefined ? {} : { acceptTimeline: options.acceptTimeline }),
  });
  if (options.json === true) terminal.json(answer);
  else terminal.lines(adoptedLines(status));
  return EXIT.ok;
}

async function agreed(interactive: boolean): Promise<boolean> {
  if (!interactive || process.stdin.isTTY !== true)
    throw usage('Nobody is at the terminal to be asked, so nothing was changed. Add --yes when this is the real one.');
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test(
      (await asking.question('Is this the real one, and is the original out of work? [y/N] ')).trim(),
    );
  } finally {
    asking.close();
  }
}
