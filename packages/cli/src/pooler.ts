import pg from 'pg';

/** What stands between this process and PostgreSQL: nothing, or a pooler that keeps a server connection for a session, or for a transaction. */
export type PoolerMode = 'none' | 'session' | 'transaction' | 'unknown';

const CONNECT_TIMEOUT_MS = 5_000;
const ROUNDS = 5;

/**
 * Finds out by the identifiers of server processes. A pooler answers with a made-up one when a client connects. One that lends server connections per
 * transaction gives the first client another server process while the second keeps the process in a transaction of its own.
 */
export async function findPooler(url: string): Promise<PoolerMode> {
  const [first, second] = [client(url), client(url)];
  try {
    await first.connect();
    const before = await backend(first);
    // In the protocol's start, and not in the types of the driver.
    if (before === (first as unknown as { readonly processID: number | null }).processID) return 'none';
    await second.connect();
    for (let round = 0; round < ROUNDS; round += 1) {
      await second.query('begin');
      await backend(second);
      const now = await backend(first);
      await second.query('commit');
      if (now !== before) return 'transaction';
    }
    return 'session';
  } catch {
    // It is a remark in a log: whatever is wrong is told by the connection that matters.
    return 'unknown';
  } finally {
    await Promise.allSettled([first.end(), second.end()]);
  }
}

/** One line for the log. */
export function poolerLine(mode: PoolerMode, listensPast: boolean): string {
  switch (mode) {
    case 'transaction':
      return listensPast
        ? 'pooler: transaction; wake-ups come past it'
        : 'pooler: transaction; wake-ups cannot pass it, so the relay polls. --direct-url gives them a way';
    case 'session':
      return 'pooler: session';
    case 'none':
      return 'pooler: none';
    case 'unknown':
      return 'pooler: unknown; the self-test failed';
  }
}

function client(url: string): pg.Client {
  const made = new pg.Client({
    connectionString: url,
    application_name: 'comanda-relay',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  });
  made.on('error', () => {});
  return made;
}

async function backend(on: pg.Client): Promise<number | undefined> {
  const { rows } = await on.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}
