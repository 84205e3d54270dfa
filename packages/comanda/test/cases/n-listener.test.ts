import {
  createDatabase,
  eventually,
  needPgbouncer,
  startPgbouncer,
  startTcpProxy,
  type TestDatabase,
} from '@comanda/test-support';
import { decideStandalone, type Listener } from 'comanda';
import { pgListener, pgStandalone } from 'comanda/adapters/pg';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { manualClock } from '../../src/kernel/manual-clock.js';

interface State {
  readonly up: boolean;
  readonly reason?: string | undefined;
}

interface Listening {
  readonly hints: () => number;
  readonly states: readonly State[];
  up(times?: number): Promise<void>;
  close(): Promise<void>;
}

async function start(listener: Listener, channel: string): Promise<Listening> {
  const states: State[] = [];
  let hints = 0;
  const handle = await listener.listen(
    channel,
    () => {
      hints += 1;
    },
    (up, reason) => states.push({ up, reason }),
  );
  return {
    hints: () => hints,
    states,
    up: async (times = 1) => {
      await eventually(() => states.filter((state) => state.up).length >= times, {
        what: `the listener to come up (${times})`,
      });
    },
    close: handle.close,
  };
}

async function wakeChannel(db: TestDatabase): Promise<{ client: pg.Client; channel: string }> {
  const client = await db.connect();
  const { rows } = await client.query<{ channel: string }>('select comanda.wake_channel() as channel');
  return { client, channel: rows[0]?.channel ?? '' };
}

const decideOne = (client: pg.Client, key: string) =>
  decideStandalone(pgStandalone(client), { key, effects: [{ kind: 'refund', payload: { key } }] });

const listeners = async (client: pg.Client): Promise<{ pid: number; state: string; xact_start: Date | null }[]> => {
  const { rows } = await client.query(
    `select pid, state, xact_start from pg_stat_activity where datname = current_database() and application_name = 'comanda listener'`,
  );
  return rows;
};

describe('the listener', () => {
  test('hears decisions, and has no transaction open (N03)', async () => {
    const db = await createDatabase();
    const { client, channel } = await wakeChannel(db);
    const listening = await start(pgListener({ connectionString: db.url }), channel);
    await listening.up();
    const before = listening.hints();
    await decideOne(client, 'a');
    await eventually(() => listening.hints() > before, { what: 'a hint' });
    expect(await listeners(client)).toEqual([expect.objectContaining({ state: 'idle', xact_start: null })]);
    expect(listening.states).toEqual([{ up: true }]);
    await listening.close();
    await eventually(async () => (await listeners(client)).length === 0, { what: 'its connection to be closed' });
  });

  test('takes any channel name, and its own checks are no hints', async () => {
    const db = await createDatabase();
    const client = await db.connect();
    const channel = 'We"ird Channel; select 1';
    const listening = await start(pgListener({ connectionString: db.url }), channel);
    await listening.up();
    await client.query('select pg_notify($1, $2)', [channel, 'check:somebody else']);
    await client.query('select pg_notify($1, $2)', ['another channel', '']);
    const before = listening.hints();
    expect(before).toBe(1);
    await client.query('select pg_notify($1, $2)', [channel, '']);
    await eventually(() => listening.hints() === before + 1, { what: 'exactly one hint' });
    await listening.close();
  });

  test('N06: killed while decisions commit, it comes back by itself and says so, so that nothing waits for the next poll', async () => {
    const db = await createDatabase();
    const { client, channel } = await wakeChannel(db);
    const listening = await start(pgListener({ connectionString: db.url }), channel);
    await listening.up();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'comanda listener' and datname = current_database()`,
    );
    await eventually(() => listening.states.length >= 2, { what: 'the loss to be told' });
    const before = listening.hints();
    for (let n = 0; n < 10; n++) await decideOne(client, `n06:${n}`);
    await listening.up(2);
    await eventually(() => listening.hints() > before, { what: 'the sweep after the reconnect' });
    expect(listening.states).toEqual([
      { up: true },
      { up: false, reason: expect.stringMatching(/terminat|closed|lost/) },
      { up: true },
    ]);
    await listening.close();
  });

  test('a connection that went dead without a word is noticed by the check, not by TCP', async () => {
    const db = await createDatabase();
    const url = new URL(db.url);
    const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
    const { client, channel } = await wakeChannel(db);
    const clock = manualClock();
    const listening = await start(pgListener({ connectionString: proxy.through(db.url), clock }), channel);
    await listening.up();
    proxy.stall();
    clock.advance(10_000);
    await eventually(
      () => {
        clock.advance(100);
        return listening.states.length === 2;
      },
      { what: 'the loss to be told' },
    );
    expect(listening.states[1]).toEqual({ up: false, reason: 'no answer within 3000 ms' });
    await proxy.heal();
    // The goodbye to the dead connection takes 500 ms at most, the wait before the next attempt too.
    await eventually(
      () => {
        clock.advance(clock.pending > 0 && listening.states.length === 2 ? 100 : 0);
        return listening.states.length === 3;
      },
      { what: 'the listener to come up again' },
    );
    expect(listening.states[2]).toEqual({ up: true });
    await client.end();
    await listening.close();
  });

  test('M03: 50 starts and stops at once, also against a server that does not answer', async () => {
    const db = await createDatabase();
    const url = new URL(db.url);
    const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
    proxy.stall();
    const started = performance.now();
    await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        const through = n % 2 === 0 ? proxy.through(db.url) : db.url;
        const handle = await pgListener({ connectionString: through }).listen('c', fail, fail);
        await Promise.all([handle.close(), handle.close()]);
      }),
    );
    expect(performance.now() - started).toBeLessThan(5_000);
    const client = await db.connect();
    await eventually(async () => (await listeners(client)).length === 0, { what: 'all connections to be gone' });
  });
});

describe('N07: through a transaction pooler', () => {
  test('the premise: a notification to oneself comes back, those of others do not', async (context) => {
    needPgbouncer(context);
    const db = await createDatabase();
    const bouncer = await startPgbouncer({ url: db.url });
    const client = await db.connect();
    const pooled = new pg.Client({ connectionString: bouncer.url });
    const heard: string[] = [];
    pooled.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await pooled.connect();
    await pooled.query('listen c');
    await pooled.query(`select pg_notify('c', 'own')`);
    expect(heard).toEqual(['own']);
    await client.query(`select pg_notify('c', 'other')`);
    await client.query('select pg_sleep(0.2)');
    expect(heard).toEqual(['own']);
    await pooled.end();
  });

  test('the listener says once that it hears nothing, names the reason, and leaves the pool alone', async (context) => {
    needPgbouncer(context);
    const db = await createDatabase();
    const bouncer = await startPgbouncer({ url: db.url });
    const { client, channel } = await wakeChannel(db);
    const clock = manualClock();
    const logins = (): number => (bouncer.log().match(/login attempt/g) ?? []).length;
    const listening = await start(pgListener({ connectionString: bouncer.url, clock }), channel);
    await eventually(
      () => {
        clock.advance(100);
        return listening.states.length > 0;
      },
      { what: 'the verdict' },
    );
    expect(listening.states).toEqual([{ up: false, reason: expect.stringMatching(/transaction pooler.*direct URL/) }]);
    await decideOne(client, 'n07');
    expect(listening.hints()).toBe(0);

    const before = logins();
    clock.advance(299_000);
    expect(clock.pending).toBe(1);
    expect(logins()).toBe(before);
    clock.advance(2_000);
    await eventually(() => logins() > before, { what: 'another try after 5 minutes' });
    await listening.close();
    expect(listening.states).toHaveLength(1);
  });
});

function fail(): void {
  throw new Error('a listener that was closed at once says nothing');
}
