import { pgListener } from 'comanda/adapters/pg';
import { checkSchemaName, checkVersion } from 'comanda/internal';
import { type Command, Option } from 'commander';
import { command, type DatabaseOptions, does, durationOption, wholeNumber, withDatabaseOptions } from '../command.js';
import { loadConfig } from '../config.js';
import type { Context } from '../context.js';
import { openDatabase } from '../database.js';
import { chooseDatabase, readUrl } from '../database-choice.js';
import { environmentName } from '../environment.js';
import type { ExitCode } from '../exit-codes.js';
import { usage } from '../failure.js';
import { knownSecrets } from '../known-secrets.js';
import { findPooler, poolerLine } from '../pooler.js';
import { LOG_LEVELS, type LogLevel } from '../relay-messages.js';
import { relayLog, runRelay } from '../run-relay.js';
import { version } from '../version.js';

interface RelayFlags extends DatabaseOptions {
  readonly config: string;
  readonly environment?: string;
  readonly lease: number;
  readonly grace: number;
  readonly pollOnly?: boolean;
  readonly directUrl?: string;
  readonly connections: number;
  readonly verbose?: boolean;
  readonly logLevel: LogLevel;
  readonly healthPort?: number;
  readonly healthHost: string;
  readonly json?: boolean;
}

export function relayCommand(context: Context): Command {
  return withDatabaseOptions(
    command(
      'relay',
      'execute decided effects until SIGTERM or Ctrl-C',
      [
        'Executes the effects of the kinds that the configuration defines, until SIGTERM or Ctrl-C: then it takes nothing new, lets what runs end within --grace, and writes every outcome. A second signal ends it at once (exit code 143 or 130); leases then end by themselves.',
        `FILE is a module (.mjs, .js) whose default export is { effects: [...], targets: {...} }, or JSON { "effects": [...], "targets": {...} } with HTTP effects; targets sets limits, e.g. { "payments": { "ratePerSecond": 50, "concurrency": 20 } }; \${env:NAME} in values of its headers is replaced by the variable NAME.`,
        'It acts only on an installation of the environment that it is configured for (--environment, or the variable COMANDA_ENVIRONMENT), reached where it was adopted: a copy of a database sends nothing. See "comanda adopt".',
        'AI_ACTIONS_ENABLED must be "true" for effects that agents decide to leave; anything else holds them.',
      ].join('\n'),
    )
      .requiredOption('--config <file>', 'what this relay executes')
      .option(
        '--environment <name>',
        'the environment that it works for, e.g. production (default: COMANDA_ENVIRONMENT; one of the two is required, except with --dev)',
      )
      .addOption(
        durationOption('--lease <duration>', 'how long a claim is held without renewal', '30s', {
          minMs: 500,
          maxMs: 3_600_000,
        }),
      )
      .addOption(
        durationOption('--grace <duration>', 'how long running effects may go on after the first signal', '30s', {
          minMs: 0,
          maxMs: 3_600_000,
        }),
      )
      .option('--poll-only', 'never listen for wake-ups; latency is then that of polling')
      .option('--direct-url <url>', 'URL (or env:NAME) for the listening connection, past a transaction pooler')
      .option('--connections <n>', 'connections of the pool at most', wholeNumber(2, 200), 10)
      .option(
        '--health-port <n>',
        'tell health on this port: GET /live, /ready, /health, /metrics (0: a free one)',
        wholeNumber(0, 65_535),
      )
      .option('--health-host <address>', 'with --health-port: the address to listen on', '127.0.0.1')
      .addOption(new Option('--log-level <level>', 'the least that is logged').choices([...LOG_LEVELS]).default('info'))
      .option('--verbose', 'the same as --log-level debug: each claim and settlement, too')
      .option('--json', 'log JSON, one document per line'),
  ).action(does(context, (flags: RelayFlags) => relay(context, flags)));
}

async function relay(context: Context, flags: RelayFlags): Promise<ExitCode> {
  const schema = checkSchemaName(flags.schema);
  const choice = chooseDatabase(flags, context.env);
  const direct = flags.directUrl === undefined ? choice : readUrl(flags.directUrl, '--direct-url', context.env);
  const level = flags.verbose === true ? 'debug' : flags.logLevel;
  const log = relayLog(context.terminal, { json: flags.json === true, level });
  const secrets = knownSecrets(context.env, [choice.url, direct.url]);
  const environment = environmentName(flags.environment, context.env);
  if (environment === undefined && flags.dev !== true)
    throw usage(
      'The relay is not told for which environment it works. Add --environment NAME, the name given to "comanda migrate", or set COMANDA_ENVIRONMENT.',
    );
  // Before anything is opened: a mistake in the file is the commonest one.
  const config = await loadConfig(flags.config, secrets.env);
  log.hide(secrets.values());
  context.at(choice.shown);
  const database = await openDatabase(choice, {
    applicationName: 'comanda-relay',
    statementTimeoutMs: flags.statementTimeout,
    max: flags.connections,
    onIdleError: (error) => log.note('warning', `an idle connection broke and is replaced: ${error.message}`),
  });
  try {
    await checkVersion(database.db, schema);
    log.note(
      'info',
      `works for ${choice.shown}, schema ${schema}${environment === undefined ? '' : `, environment ${environment}`}`,
    );
    const listens = flags.pollOnly !== true && flags.directUrl !== undefined;
    log.note('info', poolerLine(await findPooler(choice.url), listens));
    if (database.warning !== undefined) log.note('warning', database.warning);
    return await runRelay({
      db: database.db,
      listener: flags.pollOnly === true ? undefined : pgListener({ connectionString: direct.url }),
      config,
      schema,
      ...(environment === undefined ? {} : { environment }),
      ...(choice.endpoint === undefined ? {} : { endpoint: choice.endpoint }),
      env: context.env,
      leaseMs: flags.lease,
      graceMs: flags.grace,
      version: version(),
      log,
      ...(flags.healthPort === undefined ? {} : { health: { port: flags.healthPort, host: flags.healthHost } }),
    });
  } finally {
    await database.close();
  }
}
