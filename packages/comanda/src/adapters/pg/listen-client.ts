import { Socket } from 'node:net';
import { comandaError } from '../../kernel/errors.js';
import { CONNECT_TIMEOUT_MS } from '../../kernel/limits.js';

/** What we use of a connected `pg` Client that listens. */
export interface PgListenClientLike {
  query(text: string, values?: unknown[]): Promise<unknown>;
  on(event: 'notification', heard: (message: { channel: string; payload?: string | undefined }) => void): unknown;
  on(event: 'error' | 'end', lost: (error?: Error) => void): unknown;
  end(): Promise<void>;
}

/** What we use of the module `pg`. */
export interface PgModuleLike {
  readonly Client: new (config: Record<string, unknown>) => PgListenClientLike & { connect(): Promise<unknown> };
}

/** A direct connection for LISTEN: by URL, or made by the caller. Never a pool's, and never through a transaction pooler. */
export type PgListenTarget =
  | {
      readonly connectionString: string;
      /** The module `pg`, when the one that this package finds is not the one to use. */
      readonly pg?: PgModuleLike;
    }
  | { readonly connect: () => Promise<PgListenClientLike> };

/** An open connection; `destroy` never waits for the other side. */
export interface OpenConnection {
  readonly client: PgListenClientLike;
  destroy(): void;
}

/** Opens a connection, or ends the attempt when the signal fires. */
export type Connect = (signal: AbortSignal) => Promise<OpenConnection>;

/**
 * How connections to the target are made.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG when a URL was given and the package `pg` is not installed
 */
export async function connector(target: PgListenTarget): Promise<Connect> {
  if ('connect' in target) return (signal) => givenUp(target.connect(), signal);
  const { Client } = target.pg ?? (await importPg());
  return async (signal) => {
    // The socket is ours, so that an attempt to connect to a host that does not answer can be ended.
    const socket = new Socket();
    const client = new Client({
      connectionString: target.connectionString,
      application_name: 'comanda listener',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      stream: () => socket,
    });
    client.on('error', () => undefined);
    const end = (): void => void socket.destroy();
    signal.addEventListener('abort', end, { once: true });
    try {
      signal.throwIfAborted();
      await client.connect();
    } catch (error) {
      end();
      throw error;
    } finally {
      signal.removeEventListener('abort', end);
    }
    return { client, destroy: end };
  };
}

/** A connection that comes after we have stopped waiting for it is ended. */
async function givenUp(connecting: Promise<PgListenClientLike>, signal: AbortSignal): Promise<OpenConnection> {
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    signal.throwIfAborted();
    const client = await Promise.race([connecting, stopped]);
    client.on('error', () => undefined);
    return { client, destroy: () => void client.end().catch(() => undefined) };
  } catch (error) {
    connecting.then((late) => late.end()).catch(() => undefined);
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function importPg(): Promise<PgModuleLike> {
  try {
    const loaded: { default: PgModuleLike } = await import('pg');
    return loaded.default;
  } catch (cause) {
    throw comandaError(
      'COMANDA_INVALID_CONFIG',
      { problem: 'pgListener with a connectionString needs the package "pg"' },
      { cause },
    );
  }
}
