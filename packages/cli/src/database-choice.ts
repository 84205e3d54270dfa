import { userInfo } from 'node:os';
import { shellWord } from 'comanda/internal';
import { defaultDataDir } from './embedded/index.js';
import { isServerOn, readPidFile } from './embedded/pidfile.js';
import type { Environment } from './environment.js';
import { EXIT } from './exit-codes.js';
import { CliError, usage } from './failure.js';

/** How the command line names a database. */
export interface DatabaseFlags {
  readonly databaseUrl?: string;
  readonly dev?: boolean;
  readonly dataDir?: string;
}

/** A database that somebody named. */
export interface DatabaseChoice {
  /** Complete: every part that the driver would otherwise look for elsewhere is in it. */
  readonly url: string;
  /** `host:port/database`, without login and password. */
  readonly shown: string;
  /** The same as part of the fingerprint of an installation; none for the server of "comanda dev", whose port changes with each start. */
  readonly endpoint?: string;
  /** The flags that name it again, for commands that are suggested; empty when they would show a secret. */
  readonly flags: string;
}

/** @throws CliError when no database is named, or more than one */
export function chooseDatabase(flags: DatabaseFlags, env: Environment): DatabaseChoice {
  if (flags.databaseUrl !== undefined && (flags.dev === true || flags.dataDir !== undefined)) {
    throw usage('Two databases are named: by --database-url and by --dev. Leave one of them out.');
  }
  if (flags.databaseUrl !== undefined) {
    const url = readUrl(flags.databaseUrl, '--database-url', env);
    return {
      ...url,
      endpoint: url.shown.toLowerCase().replaceAll(/\s/g, '_'),
      flags: flags.databaseUrl.startsWith('env:') ? `--database-url ${shellWord(flags.databaseUrl)}` : '',
    };
  }
  if (flags.dev !== true) {
    const problem = flags.dataDir === undefined ? 'No database is named' : '--data-dir names a folder of --dev';
    throw usage(
      `${problem}. Add --database-url URL, or --database-url env:NAME to take the URL from a variable, or --dev for the server that "comanda dev" runs for this folder.`,
    );
  }
  return devServer(flags.dataDir);
}

/**
 * Reads a connection URL, or `env:NAME`.
 *
 * @param flag the flag that it was given with, for messages
 */
export function readUrl(text: string, flag: string, env: Environment): Pick<DatabaseChoice, 'url' | 'shown'> {
  const name = /^env:(.*)$/s.exec(text)?.[1];
  if (name === undefined) return completeUrl(text, flag);
  const value = env[name];
  if (value === undefined || value === '') {
    throw usage(
      `${flag} names the variable ${name}, which is not set. Set it to a URL such as postgresql://user@host/database.`,
    );
  }
  return completeUrl(value, `the variable ${name}`);
}

function completeUrl(text: string, source: string): Pick<DatabaseChoice, 'url' | 'shown'> {
  const url = parseUrl(text);
  if (url === undefined || !/^postgres(ql)?:$/.test(url.protocol)) {
    // The text is not repeated: it may hold a password.
    throw usage(`${source} holds no connection URL. Write postgresql://user@host:5432/database.`);
  }
  const database = decoded(url.pathname.slice(1));
  if (database === '')
    throw usage(`The URL of ${source} names no database. Write postgresql://user@host:5432/database.`);
  if (url.username === '' && !url.searchParams.has('user')) url.searchParams.set('user', userInfo().username);
  const host = decoded(url.searchParams.get('host') ?? url.hostname);
  if (host === '') throw usage(`The URL of ${source} names no host. Write postgresql://user@host:5432/database.`);
  if (url.port === '' && !url.searchParams.has('port')) url.searchParams.set('port', '5432');
  const port = url.searchParams.get('port') ?? url.port;
  return { url: url.href, shown: host.startsWith('/') ? `${host}/${database}` : `${host}:${port}/${database}` };
}

/** `postgresql://user@/database?host=/run/postgresql` is usual for sockets and no URL: a host has to follow the user. */
function parseUrl(text: string): URL | undefined {
  const whole = /[?&]host=/.test(text) ? text.replace(/^(\w+:\/\/[^/]*@)\//, '$1localhost/') : text;
  return URL.canParse(whole) ? new URL(whole) : undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function devServer(dataDir: string | undefined): DatabaseChoice {
  const folder = dataDir ?? defaultDataDir(process.cwd());
  const file = readPidFile(folder);
  if (file === undefined || !isServerOn(folder, file.pid)) {
    throw new CliError(
      'CLI_UNREACHABLE',
      EXIT.unreachable,
      `No development server runs on ${folder}. Start it in another terminal: comanda dev${dataDir === undefined ? '' : ` --data-dir ${shellWord(dataDir)}`}.`,
    );
  }
  return {
    url: `postgresql://postgres@127.0.0.1:${file.port}/postgres`,
    shown: `127.0.0.1:${file.port}/postgres`,
    flags: dataDir === undefined ? '--dev' : `--dev --data-dir ${shellWord(dataDir)}`,
  };
}
