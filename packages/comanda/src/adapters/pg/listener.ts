import { backoffCeilingMs, retryDelayMs } from '../../kernel/backoff.js';
import { type Clock, systemClock } from '../../kernel/clock.js';
import { type Random, systemRandom } from '../../kernel/ids.js';
import { LISTEN_RECONNECT_BASE_MS, LISTEN_RECONNECT_MAX_MS, LISTEN_RETRY_DEAF_MS } from '../../kernel/limits.js';
import type { Listener } from '../../ports/database.js';
import { connector, type PgListenTarget } from './listen-client.js';
import { listenOnce } from './listen-session.js';

/** Options of {@link pgListener}. */
export type PgListenerOptions = PgListenTarget & {
  /** For tests. */
  readonly clock?: Clock;
  /** For tests. */
  readonly random?: Random;
};

const RECONNECT = { baseMs: LISTEN_RECONNECT_BASE_MS, maxMs: LISTEN_RECONNECT_MAX_MS };
const DEAF =
  'notifications do not come back on this connection, as behind a transaction pooler: only polling from here on; give the listener a direct URL';

/**
 * Wake-up hints by LISTEN on a dedicated direct connection, which never has a transaction open.
 *
 * The connection proves that it hears: at start by a notification from a second, short connection, then each 10 s by one of its own. A
 * lost one is made again, with growing, jittered waits (at most 6 times in the first 10 s); one that does not hear is given up and tried
 * again each 5 minutes.
 *
 * @throws ComandaError COMANDA_INVALID_CONFIG (from `listen`) when a URL was given and the package `pg` is not installed
 */
export function pgListener(options: PgListenerOptions): Listener {
  return {
    async listen(channel, onHint, onState) {
      const stop = new AbortController();
      const connect = await connector(options);
      const running = follow({
        connect,
        channel,
        clock: options.clock ?? systemClock,
        random: options.random ?? systemRandom,
        signal: stop.signal,
        onHint,
        onState,
      });
      return {
        async close() {
          stop.abort(new Error('the listener was closed'));
          await running;
        },
      };
    },
  };
}

type Following = Omit<Parameters<typeof listenOnce>[0], 'onProven'> & {
  readonly random: Random;
  readonly onState: (up: boolean, reason?: string) => void;
};

async function follow(following: Following): Promise<void> {
  const { clock, random, signal } = following;
  let up: boolean | undefined;
  const tell = (now: boolean, reason?: string): void => {
    if (up === now) return;
    up = now;
    following.onState(now, reason);
  };
  for (let attempt = 1; !signal.aborted; attempt++) {
    const ended = await listenOnce({ ...following, onProven: () => tell(true) });
    if (ended.end === 'stopped') return;
    tell(false, ended.end === 'deaf' ? DEAF : ended.reason);
    // Only a connection that outlived a check starts the count again: one that dies at once is an attempt like any other.
    if (ended.end === 'lost' && ended.steady) attempt = 1;
    const wait =
      ended.end === 'deaf'
        ? LISTEN_RETRY_DEAF_MS
        : retryDelayMs(attempt, RECONNECT, random(), backoffCeilingMs(attempt, RECONNECT));
    await clock.sleep(wait, signal);
  }
}
