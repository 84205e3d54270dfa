import type { Child } from '@comanda/test-support';
import type { RelayConfig } from '../processes/configuration.js';
import { startRelay } from '../stage/hand.js';
import { startHttpProxy } from '../watch/http-proxy.js';
import type { LoopbackProxy } from '../watch/proxy.js';
import { startSmtpProxy } from '../watch/smtp-proxy.js';
import { startSqlProxy } from '../watch/sql-proxy.js';
import type { Tap, Victim } from '../watch/tap.js';

/** A process under test, and the way to what it talks to: through proxies that tell the tap. */
export interface Watched {
  readonly child: Child;
  isGone(): boolean;
  /** Addresses as it may know them. */
  readonly addresses: Pick<RelayConfig, 'database' | 'provider' | 'mail'>;
  /** Asks the process to end in order, and waits. */
  stop(): Promise<void>;
  /** Stops what it does; the process stays. Nothing when it is gone. */
  dismiss(): Promise<void>;
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
    isGone: () => gone,
    addresses,
    stop: async () => void (await child.kill('SIGTERM')),
    dismiss: async () => undefined,
    close: () => {
      for (const proxy of proxies) proxy.close();
    },
  };
}

/** A relay under test, started; one that is killed while it starts counts as started. */
export async function watchRelay(
  child: Child,
  addresses: Addresses,
  times: Pick<RelayConfig, 'leaseMs' | 'timeoutMs' | 'pool'>,
  tap: Tap,
): Promise<Watched> {
  const watched = await watch(() => child, addresses, tap);
  const started = startRelay(child, { ...watched.addresses, ...times }).catch((error: unknown) => {
    if (!tap.hasKilled) throw error;
    return undefined;
  });
  const dismiss = await Promise.race([started, tap.killed.then(() => undefined)]);
  let dismissed: Promise<void> | undefined;
  return {
    ...watched,
    dismiss: () => {
      // Another one was killed while this one was starting: it goes on starting.
      dismissed ??= (async () => void (await (dismiss ?? (await started))?.()))();
      return dismissed;
    },
  };
}
