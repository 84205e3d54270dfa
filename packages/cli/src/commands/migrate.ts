import {
  checkSchemaName,
  type MigrateOptions,
  type MigrateResult,
  migrate,
  migrationScript,
  readInstalled,
} from 'comanda/internal';
import type { Command } from 'commander';
import { command, databaseUrlOption, does, jsonOption, schemaOption } from '../command.js';
import type { Context } from '../context.js';
import { withConnection } from '../database.js';
import { chooseDatabase, type DatabaseFlags } from '../database-choice.js';
import { environmentName } from '../environment.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { usage } from '../failure.js';
import { migrateLines } from '../render/migrate.js';

interface MigrateFlags extends DatabaseFlags {
  readonly schema: string;
  readonly environment?: string;
  readonly rolePrefix?: string;
  readonly sql?: boolean;
  readonly json?: boolean;
}

export function migrateCommand(context: Context): Command {
  return command(
    'migrate',
    'bring a schema to the version of this program',
    'Installs the schema, or brings it to the version of this program: in one transaction, under a lock, so that any number of processes may do it at once. Needs the right to create a schema; roles are made when the login may, and named when it may not.',
  )
    .addOption(databaseUrlOption())
    .option('--dev', 'use the server that "comanda dev" runs for this folder')
    .option('--data-dir <dir>', 'with --dev: the data folder of that server')
    .addOption(schemaOption())
    .option(
      '--environment <name>',
      'name of the environment, e.g. production (default: COMANDA_ENVIRONMENT); required for the first installation, kept as it is afterwards',
    )
    .option('--role-prefix <prefix>', 'prefix of the roles PREFIX_app, PREFIX_relay, … (default: comanda)')
    .option('--sql', 'print the SQL for an administrator instead; without a database: the whole installation')
    .addOption(jsonOption())
    .action(
      does(context, (flags: MigrateFlags) => (flags.sql === true ? printSql(context, flags) : run(context, flags))),
    );
}

function run(context: Context, flags: MigrateFlags): Promise<ExitCode> {
  const choice = chooseDatabase(flags, context.env);
  context.at(choice.shown);
  return withConnection(choice, async (db) => {
    const before = await readInstalled(db, checkSchemaName(flags.schema));
    const result = await migrate(db, optionsOf(flags, context, before === undefined));
    const installed = await readInstalled(db, result.schema);
    const environment = installed?.environment ?? 'unset';
    if (flags.json === true) context.terminal.json(jsonOf(result, environment));
    else context.terminal.lines(migrateLines(result, environment, choice.shown, context.terminal.columns));
    return EXIT.ok;
  });
}

function jsonOf({ schema, from, to, applied, routines, missingRoles }: MigrateResult, environment: string): unknown {
  return {
    schema,
    from_version: from,
    to_version: to,
    applied,
    routines_written: routines,
    missing_roles: missingRoles,
    environment,
  };
}

async function printSql(context: Context, flags: MigrateFlags): Promise<ExitCode> {
  const named = flags.databaseUrl !== undefined || flags.dev === true;
  const from = named ? await installedVersion(context, flags) : 0;
  // Script, not prose: it goes out as it is.
  context.terminal.raw(migrationScript({ ...optionsOf(flags, context, from === 0), from }));
  return EXIT.ok;
}

function installedVersion(context: Context, flags: MigrateFlags): Promise<number> {
  const choice = chooseDatabase(flags, context.env);
  context.at(choice.shown);
  return withConnection(choice, async (db) => (await readInstalled(db, flags.schema))?.schemaVersion ?? 0);
}

function optionsOf(flags: MigrateFlags, context: Context, first: boolean): MigrateOptions {
  const { rolePrefix } = flags;
  const schema = checkSchemaName(flags.schema);
  const environment =
    environmentName(flags.environment, context.env) ?? (first && flags.dev === true ? 'dev' : undefined);
  if (first && environment === undefined)
    throw usage(
      'A first installation needs the name of its environment, by which a copy of it is told apart. Add --environment NAME, e.g. production, or set COMANDA_ENVIRONMENT.',
    );
  return {
    schema,
    ...(environment === undefined ? {} : { environment }),
    ...(rolePrefix === undefined ? {} : { rolePrefix }),
  };
}
