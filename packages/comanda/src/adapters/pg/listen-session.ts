import type { Clock, Timer } from '../../kernel/clock.js';
import { newId } from '../../kernel/ids.js';
import { LISTEN_CHECK_MS, LISTEN_CHECK_TIMEOUT_MS } from '../../kernel/limits.js';
import { quoteIdentifier } from '../../kernel/schema-name.js';
import { Stop } from '../../kernel/stop.js';
import type { Connect, OpenConnection, PgListenClientLike } from './listen-client.js';

/** What one connection needs to know. */
export interface Session {
  readonly connect: Connect;
  readonly channel: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onHint: () => void;
  /** Runs once, when a notification sent by somebody else has been heard. */
  readonly onProven: () => void;
}

/**
 * How a connection ended: `lost` (connect again; `steady` when it had outlived a check), `deaf` (it works, but notifications do not
 * arrive), `stopped` (we were asked to).
 */
export type SessionEnd =
  | { readonly end: 'lost'; readonly reason: string; readonly steady: boolean }
  | { readonly end: 'deaf' }
  | { readonly end: 'stopped' };

const CHECK = 'check:';
const GOODBYE_MS = 500;
const LATE = Symbol('late');

/** Subscribes on a connection of its own, proves that it hears, and listens until it is lost. No transaction is ever open. */
export async function listenOnce(session: Session): Promise<SessionEnd> {
  const { channel, signal } = session;
  let steady = false;
  let open: OpenConnection | undefined;
  let link: Link | undefined;
  try {
    open = await session.connect(signal);
    link = watch(open.client, session);
    await inTime(link, open.client.query(`listen ${quoteIdentifier(channel)}`));
    if (!(await heardFromOther(session, link))) {
      await inTime(link, open.client.query(`unlisten ${quoteIdentifier(channel)}`));
      return { end: 'deaf' };
    }
    session.onProven();
    session.onHint();
    for (;;) {
      await within(LISTEN_CHECK_MS, link, new Promise(() => undefined));
      const id = newId();
      await inTime(link, Promise.all([link.heard(id), notify(open.client, channel, id)]));
      steady = true;
    }
  } catch (error) {
    if (signal.aborted) return { end: 'stopped' };
    return { end: 'lost', reason: error instanceof Error ? error.message : String(error), steady };
  } finally {
    link?.forget();
    await goodbye(open, session.clock);
  }
}

interface Link {
  readonly clock: Clock;
  /** Fires when the connection is gone, or when we are asked to stop. */
  readonly lost: Stop;
  /** Resolves when the check of that id comes back. */
  heard(id: string): Promise<void>;
  /** From now on nothing is passed on. */
  forget(): void;
}

function watch(client: PgListenClientLike, { channel, clock, onHint, signal }: Session): Link {
  const checks = new Map<string, () => void>();
  let over = false;
  const lost = new Stop();
  const stop = (): void => lost.stop(signal.reason);
  client.on('error', (error) => lost.stop(error ?? new Error('the connection was lost')));
  client.on('end', () => lost.stop(new Error('the server closed the connection')));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  client.on('notification', ({ channel: on, payload = '' }) => {
    if (over || on !== channel) return;
    if (!payload.startsWith(CHECK)) return onHint();
    const id = payload.slice(CHECK.length);
    checks.get(id)?.();
    checks.delete(id);
  });
  return {
    clock,
    lost,
    heard: (id) => new Promise((resolve) => void checks.set(id, resolve)),
    forget() {
      over = true;
      signal.removeEventListener('abort', stop);
    },
  };
}

/**
 * The proof is sent over a second connection: a server tells its own notification to whoever sent it, so that behind a transaction
 * pooler a check over one connection would pass, and nothing would be heard ever after.
 */
async function heardFromOther(session: Session, link: Link): Promise<boolean> {
  const id = newId();
  const heard = link.heard(id);
  const other = await session.connect(session.signal);
  try {
    await inTime(link, notify(other.client, session.channel, id));
    return (await within(LISTEN_CHECK_TIMEOUT_MS, link, heard)) !== LATE;
  } finally {
    await goodbye(other, session.clock);
  }
}

function notify(client: PgListenClientLike, channel: string, id: string): Promise<unknown> {
  return client.query('select pg_notify($1, $2)', [channel, `${CHECK}${id}`]);
}

/** An answer that does not come in time is a lost connection: TCP alone would notice hours later. */
async function inTime(link: Link, answer: Promise<unknown>): Promise<void> {
  const outcome = await within(LISTEN_CHECK_TIMEOUT_MS, link, answer);
  if (outcome === LATE) throw new Error(`no answer within ${LISTEN_CHECK_TIMEOUT_MS} ms`);
}

/** The answer, or {@link LATE} after `ms`. Leaves nothing behind on `lost`, which lives as long as the connection: a race of promises would. */
async function within(
  ms: number,
  { clock, lost }: Pick<Link, 'clock' | 'lost'>,
  answer: Promise<unknown>,
): Promise<unknown> {
  let timer: Timer | undefined;
  let gone = (_reason: Error): void => undefined;
  try {
    return await new Promise((resolve, reject) => {
      answer.then(resolve, reject);
      timer = clock.after(ms, () => resolve(LATE));
      gone = reject;
      lost.add(gone);
    });
  } finally {
    timer?.cancel();
    lost.remove(gone);
  }
}

/** Says goodbye for at most a moment: the other side may be gone. */
async function goodbye(open: OpenConnection | undefined, clock: Clock): Promise<void> {
  if (open === undefined) return;
  await within(GOODBYE_MS, { clock, lost: new Stop() }, open.client.end()).catch(() => undefined);
  open.destroy();
}
