import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { serverUser } from '@comanda/cli/embedded';
import { type Child, spawnProgram } from './child.js';
import { afterThisTest } from './cleanup.js';
import { eventually } from './eventually.js';
import { temporaryFolder } from './reaper.js';
import { needService, programPath } from './services.js';

const INSTALL = 'apt-get install pgbouncer';

/** Whether the binary is installed. */
export function pgbouncerAvailable(): boolean {
  return programPath('pgbouncer') !== undefined;
}

/** Call first in a test that needs PgBouncer: skips it, or fails it when COMANDA_REQUIRE names `pgbouncer`. */
export function needPgbouncer(context: { skip(reason: string): void }): void {
  needService(context, 'pgbouncer', pgbouncerAvailable(), INSTALL);
}

export interface PgbouncerOptions {
  /** The server behind it; the database of the URL can be any. */
  readonly url: string;
  /** Server connections per database. Default 5. */
  readonly poolSize?: number;
  /** Start-up parameters that are dropped instead of refused. */
  readonly ignoreParameters?: readonly string[];
  /** Default `transaction`. */
  readonly poolMode?: 'transaction' | 'session' | 'statement';
}

export interface Pgbouncer {
  readonly port: number;
  readonly pid: number;
  /** The URL given, through the pooler. */
  readonly url: string;
  /** Any URL of the same server, through the pooler. */
  through(url: string): string;
  /** What it logged. */
  log(): string;
  stop(): Promise<void>;
}

/** Starts PgBouncer on a free loopback port in front of a server. Ended after the test, and when this process ends. */
export async function startPgbouncer(options: PgbouncerOptions): Promise<Pgbouncer> {
  const program = programPath('pgbouncer');
  if (!program) throw new Error(`pgbouncer is not installed: ${INSTALL}`);
  const folder = temporaryFolder('pgbouncer');
  const user = serverUser(); // PgBouncer refuses to run as root
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const file = join(folder, `pgbouncer-${port}.ini`);
    writeFileSync(file, configuration(options, port));
    const child = spawnProgram(program, [file], {
      cwd: '/',
      reap: false,
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    });
    if (await isUp(child)) return handle(child, port, options.url);
    if (attempt === 5) throw new Error(`pgbouncer did not start:\n${child.output()}`);
  }
}

function configuration(options: PgbouncerOptions, port: number): string {
  const { url, poolSize = 5, poolMode = 'transaction', ignoreParameters = [] } = options;
  const server = new URL(url);
  const password = server.password ? ` password=${decodeURIComponent(server.password)}` : '';
  return `[databases]
* = host=${server.hostname} port=${server.port || 5432} user=${decodeURIComponent(server.username)}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = ${poolSize}
max_client_conn = 500
ignore_startup_parameters = ${['extra_float_digits', ...ignoreParameters].join(',')}
`;
}

// `ended` when the port was taken in between.
async function isUp(child: Child): Promise<boolean> {
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  await eventually(() => ended || child.output().includes('process up'), { everyMs: 5, what: 'pgbouncer to come up' });
  return !ended;
}

function handle(child: Child, port: number, serverUrl: string): Pgbouncer {
  const through = (url: string) => {
    const changed = new URL(url);
    changed.hostname = '127.0.0.1';
    changed.port = String(port);
    return changed.href;
  };
  const stop = async () => {
    await child.kill('SIGKILL');
  };
  afterThisTest(stop);
  return { port, pid: child.pid, url: through(serverUrl), through, log: child.output, stop };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
