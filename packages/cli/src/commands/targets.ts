import { type Command, InvalidArgumentError } from 'commander';
import { type ActOptions, withActOptions } from '../acts.js';
import { command, type DatabaseOptions, does, durationOption, jsonOption, withDatabaseOptions } from '../command.js';
import { withSession } from '../compose.js';
import type { Context } from '../context.js';
import { createDoors, type TargetChange } from '../doors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { usage } from '../failure.js';
import { targetLines, targetSetLines } from '../render/targets.js';

type Act = Omit<TargetChange, 'target' | 'by' | 'reason'>;

interface PauseOptions extends ActOptions {
  readonly for: number;
}

interface LimitOptions extends ActOptions {
  readonly rate?: number | 'none';
  readonly concurrency?: number | 'none';
  readonly ofCode?: boolean;
}

const OBEYED = 'Relays obey within seconds; the record says who asked.';

export function targetsCommand(context: Context): Command {
  const targets = command('targets', 'list, pause, resume or limit destinations, close their breakers');
  targets.addCommand(listCommand(context), { isDefault: true });
  targets.addCommand(
    act(
      'pause',
      'send nothing to a target for a while',
      `Nothing is sent to the target until the time is over. ${OBEYED}`,
    )
      .addOption(
        durationOption('--for <duration>', 'how long, at most 24 days', '1h', { minMs: 1_000, maxMs: 24 * 86_400_000 }),
      )
      .action(
        does(context, (target: string, options: PauseOptions) =>
          set(context, target, options, { pauseMs: options.for }),
        ),
      ),
  );
  targets.addCommand(
    act('resume', 'end the pause of a target', `Ends a pause, whoever asked for it. ${OBEYED}`).action(
      does(context, (target: string, options: ActOptions) => set(context, target, options, { resume: true })),
    ),
  );
  targets.addCommand(
    act(
      'close',
      'close the breaker of a target',
      `Lets work flow again at once, after the cause was repaired; without this a probe finds out by itself. ${OBEYED}`,
    ).action(does(context, (target: string, options: ActOptions) => set(context, target, options, { close: true }))),
  );
  targets.addCommand(
    act(
      'limit',
      'limit what all relays together send to a target',
      `Sets limits that win over those of the relays' configuration, until --of-code. ${OBEYED}`,
    )
      .option('--rate <n>', 'effects a second, or "none"', limit)
      .option('--concurrency <n>', 'effects at the same time, or "none"', limit)
      .option('--of-code', 'the limits of the configuration hold again')
      .action(does(context, (target: string, options: LimitOptions) => set(context, target, options, limits(options)))),
  );
  return targets;
}

function listCommand(context: Context): Command {
  return withDatabaseOptions(
    command('list', 'targets with a breaker that is not closed, a pause or a limit (the default)').addOption(
      jsonOption(),
    ),
  ).action(
    does(context, (options: DatabaseOptions & { readonly json?: boolean }) =>
      withSession(context, options, async ({ reader }) => {
        const rows = await reader.targets();
        if (options.json === true) context.terminal.json(rows);
        else context.terminal.lines(targetLines(rows, context.terminal.columns));
        return EXIT.ok;
      }),
    ),
  );
}

function act(name: string, summary: string, description: string): Command {
  return withDatabaseOptions(
    withActOptions(command(name, summary, description).argument('<target>', 'name of the target')).addOption(
      jsonOption(),
    ),
  );
}

function limits({ rate, concurrency, ofCode }: LimitOptions): Act {
  if (ofCode === true) {
    if (rate !== undefined || concurrency !== undefined)
      throw usage('--of-code takes neither --rate nor --concurrency.');
    return { limitsOfCode: true };
  }
  if (rate === undefined && concurrency === undefined)
    throw usage('Say which limit: --rate, --concurrency, or --of-code for those of the configuration.');
  return {
    ...(rate === undefined ? {} : { ratePerSecond: rate === 'none' ? null : rate }),
    ...(concurrency === undefined ? {} : { concurrency: concurrency === 'none' ? null : concurrency }),
  };
}

/** The range is the database's word. */
function limit(value: string): number | 'none' {
  if (value === 'none') return value;
  const n = Number(value);
  if (value.trim() === '' || !Number.isFinite(n)) throw new InvalidArgumentError('A number or "none" is expected.');
  return n;
}

function set(context: Context, target: string, options: ActOptions, change: Act): Promise<ExitCode> {
  return withSession(context, options, async ({ db, schema, suggest }) => {
    const { by, reason } = options;
    const [answer] = await createDoors(db, schema).targetSet({ target, by, reason, ...change });
    if (answer === undefined) throw new Error('target_set returned no row');
    if (options.json === true) context.terminal.json(answer);
    else context.terminal.lines(targetSetLines(answer, suggest));
    return EXIT.ok;
  });
}
