import type { Child } from '@comanda/test-support';
import type { RelayConfig } from '../processes/configuration.js';
import { startRelay } from '../stage/hand.js';
import { spawnRelay } from '../stage/server.js';
import { startHttpProxy } from '../watch/http-proxy.js';
import type { LoopbackProxy } from '../watch/proxy.js';
import { startSmtpProxy } from '../watch/smtp-proxy.js';
import { startSqlProxy } from '../watch/sql-proxy.js';
import type { Tap, Victim } from '../watch/tap.js';

/** A process under test, and the way to what it talks to: through proxies that tell the tap. */
export interface Watched {
  readonly child: Child;
  readonly gone: boolean;
  /** Addresses as it may know them. */
  readonly addresses: Pick<RelayConfig, 'database' | 'provider' | 'mail'>;
  /** Asks it to end in order, and waits. */
  stop(): Promise<void>;
  close(): void;
}

export interface Addresses {
  readonly database: string;
  readonly http: number;
  readonly mail: number;
}

/** @param spawn starts the process; it knows nothing but the proxies */
export async function watch(
  spawn: (addresses: Watched['addresses']) => Child,
  { database, http, mail }: Addresses,
  tap: Tap,
): Promise<Watched> {
  let gone = false;
  const victim: Victim = {
    get gone() {
      return gone;
    },
    kill: async () => void (await child.kill('SIGKILL')),
  };
  const direct = new URL(database);
  const proxies: readonly LoopbackProxy[] = await Promise.all([
    startSqlProxy({ host: direct.hostname, port: Number(direct.port) }, tap, victim),
    startHttpProxy({ host: '127.0.0.1', port: http }, tap, victim),
    startSmtpProxy({ host: '127.0.0.1', port: mail }, tap, victim),
  ]);
  const [sql, web, post] = proxies;
  direct.port = String(sql?.port);
  const addresses = {
    database: direct.href,
    provider: `http://127.0.0.1:${web?.port}`,
    mail: `127.0.0.1:${post?.port}`,
  };
  const child = spawn(addresses);
  void child.exited.then(() => {
    gone = true;
  });
  return {
    child,
    get gone() {
      return gone;
    },
    addresses,
    stop: async () => void (await child.kill('SIGTERM')),
    close: () => {
      for (const proxy of proxies) proxy.close();
    },
  };
}

/** A relay under test, started; one that is killed while it starts counts as started. */
export async function watchRelay(
  addresses: Addresses,
  times: Pick<RelayConfig, 'leaseMs' | 'timeoutMs'>,
  tap: Tap,
): Promise<Watched> {
  const watched = await watch(spawnRelay, addresses, tap);
  await Promise.race([startRelay(watched.child, { ...watched.addresses, ...times }).catch(unless(tap)), tap.killed]);
  return watched;
}

function unless(tap: Tap): (error: unknown) => undefined {
  return (error) => {
    if (!tap.hasKilled) throw error;
    return undefined;
  };
}
