/*
 * An embedded PostgreSQL for development, the demo and the tests: the real server from npm's binaries, on loopback, run
 * as an ordinary user, and gone when this process is gone. Not for production: it trusts every local connection, and the
 * binaries bring their own, old OpenSSL.
 */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { usableBinaries } from './binaries.js';
import { claimDataDir, stateOfDataDir } from './claim.js';
import { assertOwned, canReach, defaultDataDir, temporaryFolder } from './folders.js';
import { createCluster, SUPERUSER } from './initdb.js';
import { HOST, launch, type Running } from './launch.js';
import { type Binaries, locateBinaries, type MajorVersion } from './locate.js';
import type { ExitNotice } from './process.js';
import { type ServerUser, serverUser } from './user.js';

export { defaultDataDir } from './folders.js';
export type { MajorVersion } from './locate.js';
export type { ExitNotice } from './process.js';
export { type ServerUser, serverUser } from './user.js';

export interface EmbeddedOptions {
  /** Folder of the database files, created when missing. Default: {@link defaultDataDir} of the current folder. Not together with `ephemeral`. */
  readonly dataDir?: string;
  /** Keep the data in a temporary folder that is removed when the server stops or this process ends in whatever way. Default `false`. */
  readonly ephemeral?: boolean;
  /** Major version. Default: the one that is installed for this platform. */
  readonly version?: MajorVersion;
  /** Server settings, e.g. `{ max_connections: '200' }`. They win over the defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /** TCP port on 127.0.0.1. Default: a free one. */
  readonly port?: number;
  /** Whether a crash of the machine (not of the server) must not lose commits. `false` turns fsync off. Default: `true`, or `false` with `ephemeral`. */
  readonly durable?: boolean;
  /** Called once when the server ends without `stop()`. Connections are broken by then. */
  readonly onExit?: (notice: ExitNotice) => void;
}

/** A running embedded server. */
export interface EmbeddedServer {
  /** Connects as superuser to the database `postgres`. No password: every local connection is trusted. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly dataDir: string;
  /** e.g. `18.4` */
  readonly version: string;
  /** Process id of the postmaster. */
  readonly pid: number;
  /** Ends the server in order, by force if it does not. Always resolves, may be called again, also after the server died. */
  stop(): Promise<void>;
  /** Resolves when the server is gone, for whatever reason; an ephemeral folder is removed by then. */
  readonly exited: Promise<ExitNotice>;
}

/**
 * Starts a PostgreSQL of its own for this process and resolves when it accepts connections: in about 1 to 2 s on a new
 * folder, in a fraction of a second on an existing one. Logical replication is possible (`wal_level=logical`).
 *
 * The server ends with this process, even when that is killed. Throws an Error that says what to do when there are no
 * binaries for this platform, when the folder belongs to somebody else, to another version or to a running server, or when
 * the port is taken.
 */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedServer> {
  if (options.ephemeral && options.dataDir !== undefined) {
    throw new Error(
      'startEmbedded: an ephemeral server chooses its own folder; pass `dataDir` or `ephemeral`, not both.',
    );
  }
  const user = serverUser();
  const binaries = usableBinaries(locateBinaries(options.version), user);
  const temporary = options.ephemeral ? temporaryFolder('comanda-pg-', user) : undefined;
  const dataDir = temporary ? join(temporary, 'data') : resolve(options.dataDir ?? defaultDataDir(process.cwd()));
  try {
    await prepare(binaries, { dataDir, temporary }, user, options);
    const settings = { ...defaults(options), ...options.settings };
    const running = await launch({ binaries, dataDir, user, settings, temporary }, options.port);
    return serve(running, { binaries, dataDir, temporary }, options);
  } catch (error) {
    if (temporary) await remove(temporary);
    throw error;
  }
}

async function prepare(
  binaries: Binaries,
  { dataDir, temporary }: { dataDir: string; temporary: string | undefined },
  user: ServerUser | undefined,
  options: EmbeddedOptions,
): Promise<void> {
  if (!canReach(dataDir, user)) {
    throw new Error(
      `The data folder ${dataDir} cannot be used: PostgreSQL refuses to run as root and would run as user ${user?.name}, ` +
        'who may not enter one of the folders above it. Name a folder that others may enter, for example one below /var/lib or /tmp.',
    );
  }
  if (stateOfDataDir(dataDir) === 'absent') {
    await createCluster(binaries, dataDir, { user, sync: isDurable(options), temporary });
  }
  assertOwned(dataDir, user);
  await claimDataDir(dataDir, binaries);
}

const isDurable = (options: EmbeddedOptions): boolean => options.durable ?? !options.ephemeral;

function defaults(options: EmbeddedOptions): Record<string, string> {
  return {
    wal_level: 'logical',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // The log goes through a pipe to this process: only what is about the server itself, not each client's mistake.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    ...(isDurable(options) ? {} : { fsync: 'off', full_page_writes: 'off' }),
  };
}

function serve(
  { postmaster, port }: Running,
  place: { binaries: Binaries; dataDir: string; temporary: string | undefined },
  options: EmbeddedOptions,
): EmbeddedServer {
  const exited = postmaster.exited.then(async (notice) => {
    if (place.temporary) await remove(place.temporary);
    if (!notice.expected) options.onExit?.(notice);
    return notice;
  });
  return {
    url: `postgresql://${SUPERUSER}@${HOST}:${port}/postgres`,
    host: HOST,
    port,
    user: SUPERUSER,
    dataDir: place.dataDir,
    version: place.binaries.version,
    pid: postmaster.pid,
    async stop() {
      await postmaster.stop();
      if (place.temporary) await remove(place.temporary);
    },
    exited,
  };
}

// Backends of a killed server may still be closing their files.
async function remove(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }).catch(() => {});
}
