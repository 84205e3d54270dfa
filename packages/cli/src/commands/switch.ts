import { Argument, type Command } from 'commander';
import { command, type DatabaseOptions, does, durationOption, jsonOption, withDatabaseOptions } from '../command.js';
import { type Session, withSession } from '../compose.js';
import { type Confirmation, confirmSwitch } from '../confirm-switch.js';
import type { Context } from '../context.js';
import { createDoors, type SwitchAnswer } from '../doors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { usage } from '../failure.js';
import { switchLines, switchSetLines } from '../render/switch.js';

interface SwitchOptions extends DatabaseOptions {
  readonly by?: string;
  readonly reason?: string;
  readonly owner?: string;
  readonly backup?: string;
  readonly wait?: boolean;
  readonly within: number;
  readonly gone?: readonly string[];
  readonly json?: boolean;
}

const MODES = ['show', 'run', 'hold', 'drain', 'stop'];

export function switchCommand(context: Context): Command {
  return withDatabaseOptions(
    command(
      'switch',
      'show or set the switch: off means off',
      [
        'Shows the switch, or sets it for a scope: run (effects leave), hold (nothing more is taken or sent; requests under way end), drain (nothing more is taken; what is taken already may still be sent), stop (as hold; for the scope all, requests under way are aborted).',
        'Scopes: all, kind:KIND, target:TARGET, tenant:TENANT, agent:ID, actor:human, actor:agent, actor:system.',
        'With --wait it waits until every live relay has said that it obeys the new version. A silent relay is named and never counts as confirmed: then, and when the time is over, the exit code is 5.',
      ].join('\n'),
    )
      .addArgument(new Argument('[mode]', 'what to do').choices(MODES).default('show'))
      .argument('[scope]', 'what is switched; with "show": only this one (default when setting: all)')
      .option('--by <name>', 'who switches; required except for show')
      .option('--reason <text>', 'why; required except for show')
      .option('--owner <name>', 'who answers for this scope being off')
      .option('--backup <name>', 'who does when the owner is away')
      .option('--wait', 'wait until every live relay obeys')
      .addOption(
        durationOption('--within <duration>', 'with --wait: how long at most', '30s', { minMs: 100, maxMs: 3_600_000 }),
      )
      .option(
        '--gone <relay>',
        'with --wait: a silent relay that is known to be dead and is not waited for; may be repeated',
        (id: string, ids: readonly string[] = []) => [...ids, id],
      )
      .addOption(jsonOption()),
  ).action(
    does(context, (mode: string, scope: string | undefined, options: SwitchOptions) =>
      mode === 'show' ? show(context, scope, options) : set(context, mode, scope ?? 'all', options),
    ),
  );
}

function show(context: Context, scope: string | undefined, options: SwitchOptions): Promise<ExitCode> {
  return withSession(context, options, async ({ reader }) => {
    const [switches, relays] = await Promise.all([reader.switches(), reader.relays()]);
    const wanted = switches.filter((row) => scope === undefined || row.scope === scope);
    if (options.json === true) context.terminal.json({ switches: wanted, relays });
    else context.terminal.lines(switchLines(wanted, relays, scope, context.terminal.columns));
    return EXIT.ok;
  });
}

function set(context: Context, mode: string, scope: string, options: SwitchOptions): Promise<ExitCode> {
  const { by, reason, owner, backup } = options;
  if (by === undefined || reason === undefined) {
    throw usage(`Setting the switch needs --by and --reason, so that the record says who did it and why.`);
  }
  return withSession(context, options, async (session) => {
    const change = {
      scope,
      mode,
      by,
      reason,
      ...(owner === undefined ? {} : { owner }),
      ...(backup === undefined ? {} : { backup }),
    };
    const [answer] = await createDoors(session.db, session.schema).switchSet(change);
    if (answer === undefined) throw new Error('switch_set returned no row');
    return await report(context, session, answer, options);
  });
}

async function report(
  { terminal }: Context,
  session: Session,
  answer: SwitchAnswer,
  options: SwitchOptions,
): Promise<ExitCode> {
  const confirmation: Confirmation | undefined =
    options.wait === true
      ? await confirmSwitch(session.reader, answer.version, { withinMs: options.within, gone: options.gone ?? [] })
      : undefined;
  const { sending } = await session.reader.status();
  if (options.json === true) {
    const ids = (rows: readonly { readonly id: string }[]): readonly string[] => rows.map(({ id }) => id);
    terminal.json({
      ...answer,
      sending,
      ...(confirmation === undefined
        ? {}
        : {
            confirmed: confirmation.confirmed,
            obeying: ids(confirmation.obeying),
            behind: ids(confirmation.behind),
            silent: ids(confirmation.silent),
          }),
    });
  } else {
    terminal.lines(switchSetLines(answer, confirmation, sending, session.suggest, terminal.columns));
  }
  return confirmation === undefined || confirmation.confirmed ? EXIT.ok : EXIT.notConfirmed;
}
