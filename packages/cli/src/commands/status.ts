import { duration, sqlstateOf, systemClock } from 'comanda/internal';
import type { Command } from 'commander';
import { command, type DatabaseOptions, does, durationOption, jsonOption, withDatabaseOptions } from '../command.js';
import { type Session, withSession } from '../compose.js';
import type { Context } from '../context.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { failureOf } from '../failure.js';
import { type StatusLook, statusLines } from '../render/status.js';
import { onStopSignal } from '../signals.js';

interface StatusOptions extends DatabaseOptions {
  readonly json?: boolean;
  readonly watch?: boolean;
  readonly every: number;
}

const UNATTENDED_SHOWN = 20;
const QUERY_CANCELED = '57014';

export function statusCommand(context: Context): Command {
  return withDatabaseOptions(
    command(
      'status',
      'how much is unfinished, since when, and what is wrong',
      'Shows effects by state with the oldest of each, lanes, live relays, the switch, what waits for a person, and the number of structural holes ("unattended"), which must be 0: otherwise the exit code is 3.',
    )
      .addOption(jsonOption())
      .option('--watch', 'look again and again, until Ctrl-C')
      .addOption(durationOption('--every <duration>', 'with --watch: pause between two looks', '2s', { minMs: 200 })),
  ).action(
    does(context, (options: StatusOptions) =>
      withSession(context, options, (session) =>
        options.watch === true ? watch(context, session, options) : once(context, session, options),
      ),
    ),
  );
}

async function once({ terminal }: Context, session: Session, options: StatusOptions): Promise<ExitCode> {
  const look = await lookAt(session);
  if (options.json === true) terminal.json(jsonOf(look));
  else terminal.lines(statusLines(look, session, terminal.columns));
  return exitCodeOf(look);
}

async function watch({ terminal }: Context, session: Session, options: StatusOptions): Promise<ExitCode> {
  const stopping = new AbortController();
  const forget = onStopSignal(() => stopping.abort());
  let code: ExitCode = EXIT.ok;
  let looked = false;
  try {
    while (!stopping.signal.aborted) {
      const look = await lookAt(session).catch((error: unknown) => {
        const failure = failureOf(error, session.choice.shown);
        // Whoever watches wants to see it come back; a mistake at the first look is told as ever.
        if (!looked || failure.exitCode !== EXIT.unreachable) throw error;
        return failure;
      });
      if ('exitCode' in look) {
        code = look.exitCode;
        if (options.json === true) terminal.jsonLine({ unreachable: look.line });
        else {
          terminal.clear();
          terminal.lines([`${look.line} Tried again every ${duration(options.every)}.`]);
        }
        await systemClock.sleep(options.every, stopping.signal);
        continue;
      }
      looked = true;
      code = exitCodeOf(look);
      if (options.json === true) {
        terminal.jsonLine(jsonOf(look));
      } else {
        terminal.clear();
        terminal.lines(statusLines(look, session, terminal.columns));
        if (!terminal.interactive) terminal.lines(['']);
      }
      await systemClock.sleep(options.every, stopping.signal);
    }
  } finally {
    forget();
  }
  return code;
}

async function lookAt({ reader }: Session): Promise<StatusLook> {
  const [status, relays, switches, attention, unattended] = await Promise.all([
    reader.status(),
    reader.relays(),
    reader.switches(),
    inTime(reader.attentionCount()),
    inTime(reader.unattended(UNATTENDED_SHOWN)),
  ]);
  return { status, relays, switches, attention, unattended };
}

/** These two read everything unfinished: with a backlog of millions they may need more than the statement timeout, and the rest is wanted all the more. */
async function inTime<Result>(reading: Promise<Result>): Promise<Result | null> {
  try {
    return await reading;
  } catch (error) {
    if (sqlstateOf(error) === QUERY_CANCELED) return null;
    throw error;
  }
}

function exitCodeOf({ status, unattended }: StatusLook): ExitCode {
  return unattended !== null && unattended.length === 0 && status.not_adopted === null ? EXIT.ok : EXIT.alarm;
}

function jsonOf({ status, relays, switches, attention, unattended }: StatusLook): unknown {
  return {
    ...status,
    relays,
    switches,
    attention_count: attention,
    unattended_count: unattended === null ? null : unattended.length,
    unattended: unattended ?? [],
  };
}
