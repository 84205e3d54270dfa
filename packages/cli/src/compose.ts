import type { Queryable } from 'comanda';
import {
  checkSchemaName,
  checkVersion,
  createReader,
  DEFAULT_SCHEMA,
  type Installed,
  type Reader,
  shellWord,
} from 'comanda/internal';
import type { DatabaseOptions } from './command.js';
import type { Context } from './context.js';
import { openDatabase } from './database.js';
import { chooseDatabase, type DatabaseChoice } from './database-choice.js';

/** What a command that looks at an installation works with. */
export interface Session {
  readonly db: Queryable;
  readonly schema: string;
  readonly installed: Installed;
  readonly reader: Reader;
  readonly choice: DatabaseChoice;
  /** A command line of this program, with the flags that lead to the same installation. */
  suggest(command: string): string;
}

/** Opens the database that was named, checks that the installation fits this program, runs `work`, and closes. */
export async function withSession<Result>(
  context: Context,
  options: DatabaseOptions,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const schema = checkSchemaName(options.schema);
  const choice = chooseDatabase(options, context.env);
  context.at(choice.shown);
  const database = await openDatabase(choice, {
    applicationName: 'comanda',
    statementTimeoutMs: options.statementTimeout,
    max: 4,
  });
  try {
    const installed = await checkVersion(database.db, schema);
    return await work({
      db: database.db,
      schema,
      installed,
      reader: createReader(database.db, schema),
      choice,
      suggest: (command) => suggestion(command, choice, schema),
    });
  } finally {
    await database.close();
  }
}

/** Adds the flags of this call, so that a suggested command can be copied. */
function suggestion(command: string, choice: Pick<DatabaseChoice, 'flags'>, schema: string): string {
  const flags = [choice.flags, schema === DEFAULT_SCHEMA ? '' : `--schema ${shellWord(schema)}`].filter(
    (flag) => flag !== '',
  );
  return [command, ...flags].join(' ');
}
