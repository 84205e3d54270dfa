import { relative, resolve } from 'node:path';
import { pgListener } from 'comanda/adapters/pg';
import { type MigrateResult, migrate, readInstalled, shellWord } from 'comanda/internal';
import type { Command } from 'commander';
import { command, does, wholeNumber } from '../command.js';
import { loadConfig, type RelayConfig } from '../config.js';
import type { Context } from '../context.js';
import { openDatabase, withConnection } from '../database.js';
import type { DatabaseChoice } from '../database-choice.js';
import { type EmbeddedServer, type ExitNotice, startEmbedded } from '../embedded/index.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { CliError, usage } from '../failure.js';
import { devLines } from '../render/dev.js';
import { relayLog, runRelay } from '../run-relay.js';
import { onStopSignal } from '../signals.js';
import { version } from '../version.js';

interface DevFlags {
  readonly dataDir?: string;
  readonly port?: number;
  readonly relay?: boolean;
  readonly config?: string;
}

const STATEMENT_TIMEOUT_MS = 10_000;
const LEASE_MS = 30_000;
const GRACE_MS = 10_000;

export function devCommand(context: Context): Command {
  return command(
    'dev',
    'a PostgreSQL with the schema in it, for development',
    'Starts a PostgreSQL of its own on 127.0.0.1 (from npm binaries, nothing to install), brings the schema into it, prints its URL and stays until Ctrl-C. The data stays in its folder. Not for production: it trusts every local login.',
  )
    .option('--data-dir <dir>', 'folder of the data (default: .comanda/postgres in this folder)')
    .option('--port <n>', 'TCP port (default: a free one)', wholeNumber(1, 65_535))
    .option('--relay', 'run a relay, too; needs --config')
    .option('--config <file>', 'with --relay: what it executes')
    .action(does(context, (flags: DevFlags) => dev(context, flags)));
}

async function dev(context: Context, flags: DevFlags): Promise<ExitCode> {
  if ((flags.relay === true) !== (flags.config !== undefined)) {
    throw usage(
      '--relay and --config belong together. Give both, or run "comanda relay --dev --config FILE" in another terminal.',
    );
  }
  const config = flags.config === undefined ? undefined : await loadConfig(flags.config, context.env);
  const stopping = new AbortController();
  let died: ExitNotice | undefined;
  const server = await start(flags, (notice) => {
    died = notice;
    stopping.abort();
  });
  const choice: DatabaseChoice = {
    url: server.url,
    shown: `${server.host}:${server.port}/postgres`,
    flags: flags.dataDir === undefined ? '--dev' : `--dev --data-dir ${shellWord(flags.dataDir)}`,
  };
  context.at(choice.shown);
  try {
    const migrated: MigrateResult = await withConnection(choice, async (db) =>
      migrate(db, (await readInstalled(db, 'comanda')) === undefined ? { environment: 'dev' } : {}),
    );
    const place = relative(process.cwd(), server.dataDir);
    const folder = place === '' || place.startsWith('..') ? server.dataDir : place;
    context.terminal.lines(devLines({ server, folder, migrated, choice, withRelay: config !== undefined }));
    if (config === undefined) await untilAsked(stopping);
    else await withRelay(context, choice, config, stopping.signal);
  } finally {
    await server.stop();
  }
  if (died !== undefined) {
    throw new CliError(
      'CLI_SERVER',
      EXIT.unexpected,
      `The PostgreSQL of "comanda dev" ended by itself. Its last words: ${lastLine(died.log)}.`,
    );
  }
  context.terminal.lines(['Stopped. The data stays.']);
  return EXIT.ok;
}

async function start(flags: DevFlags, onExit: (notice: ExitNotice) => void): Promise<EmbeddedServer> {
  try {
    return await startEmbedded({
      onExit,
      ...(flags.dataDir === undefined ? {} : { dataDir: resolve(flags.dataDir) }),
      ...(flags.port === undefined ? {} : { port: flags.port }),
    });
  } catch (error) {
    // The launcher says what to do in its own words.
    throw new CliError('CLI_SERVER', EXIT.unexpected, error instanceof Error ? error.message : String(error), error);
  }
}

async function untilAsked(stopping: AbortController): Promise<void> {
  const forget = onStopSignal(() => stopping.abort());
  // Nothing else keeps the process alive while it waits.
  const alive = setInterval(() => {}, 60_000);
  await new Promise<void>((done) => {
    if (stopping.signal.aborted) done();
    stopping.signal.addEventListener('abort', () => done(), { once: true });
  });
  clearInterval(alive);
  forget();
}

async function withRelay(
  context: Context,
  choice: DatabaseChoice,
  config: RelayConfig,
  end: AbortSignal,
): Promise<void> {
  const log = relayLog(context.terminal, { json: false, level: 'info' });
  const database = await openDatabase(choice, {
    applicationName: 'comanda-relay',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    max: 10,
  });
  try {
    await runRelay({
      db: database.db,
      listener: pgListener({ connectionString: choice.url }),
      config,
      schema: 'comanda',
      env: context.env,
      leaseMs: LEASE_MS,
      graceMs: GRACE_MS,
      version: version(),
      log,
      end,
    });
  } finally {
    await database.close();
  }
}

function lastLine(log: string): string {
  return log.trim().split('\n').at(-1) ?? '';
}
