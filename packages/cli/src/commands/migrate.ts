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
import { EXIT, type ExitCode } from '../exit-codes.js';
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
    .option('--environment <name>', 'name of the environment, e.g. production; kept as it is when not given')
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
    const result = await migrate(db, optionsOf(flags));
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
  context.terminal.raw(migrationScript({ ...optionsOf(flags), from }));
  return EXIT.ok;
}

function installedVersion(context: Context, flags: MigrateFlags): Promise<number> {
  const choice = chooseDatabase(flags, context.env);
  context.at(choice.shown);
  return withConnection(choice, async (db) => (await readInstalled(db, flags.schema))?.schemaVersion ?? 0);
}

function optionsOf({ schema, environment, rolePrefix }: MigrateFlags): MigrateOptions {
  return {
    schema: checkSchemaName(schema),
    ...(environment === undefined ? {} : { environment }),
    ...(rolePrefix === undefined ? {} : { rolePrefix }),
  };
}
