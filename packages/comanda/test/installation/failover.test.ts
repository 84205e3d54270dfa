import { appendFileSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  afterThisTest,
  type EmbeddedServer,
  eventually,
  startEmbedded,
  startTcpProxy,
  temporaryFolder,
  withClient,
} from '@comanda/test-support';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { inPgTransaction, pgStandalone } from '../../src/adapters/pg/index.js';
import { completed, decideMany, type RelayEvent } from '../../src/index.js';
import { createRelay } from '../../src/relay/index.js';
import { migrate } from '../../src/schema/migrate.js';
import { counting } from '../relay/setup.js';

const SETTINGS = { max_connections: '40', max_wal_senders: '4' };

/** A primary with the schema, and a hot standby that follows it. */
async function pair(): Promise<{ readonly primary: EmbeddedServer; readonly standby: EmbeddedServer }> {
  const folder = temporaryFolder('failover');
  const [a, b] = [join(folder, 'a'), join(folder, 'b')];
  const start = async (dataDir: string, port?: number): Promise<EmbeddedServer> => {
    const server = await startEmbedded({
      dataDir,
      settings: SETTINGS,
      durable: false,
      ...(port === undefined ? {} : { port }),
    });
    afterThisTest(() => server.stop());
    return server;
  };
  const first = await start(a);
  await withClient(first.url, (client) => migrate(pgStandalone(client), { environment: 'production' }));
  await first.stop();
  cpSync(a, b, { recursive: true, preserveTimestamps: true });
  await owned(a, b);
  writeFileSync(join(b, 'standby.signal'), '');
  appendFileSync(
    join(b, 'postgresql.auto.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${first.port} user=postgres'\n`,
  );
  const primary = await start(a, first.port);
  return { primary, standby: await start(b) };
}

/** The copy belongs to the user of the server, as the original does. */
async function owned(like: string, copy: string): Promise<void> {
  const { chownSync, chmodSync, readdirSync, statSync } = await import('node:fs');
  const { uid, gid, mode } = statSync(like);
  chmodSync(copy, mode);
  chownSync(copy, uid, gid);
  for (const name of readdirSync(copy, { recursive: true })) chownSync(join(copy, String(name)), uid, gid);
}

const follows = (standby: EmbeddedServer, primary: EmbeddedServer) =>
  eventually(
    async () => {
      const lsn = await withClient(primary.url, (c) => c.query('select pg_current_wal_lsn()::text as lsn'));
      const seen = await withClient(standby.url, (c) =>
        c.query('select pg_last_wal_replay_lsn() >= $1::pg_lsn as yes', [lsn.rows[0].lsn]),
      );
      return seen.rows[0].yes === true;
    },
    { what: 'the standby following', withinMs: 30_000 },
  );

describe('failover to a promoted standby', () => {
  it('D14: the primary dies at once: kinds with a key go on, the others wait until it is adopted, nothing is sent twice blindly', async () => {
    const { primary, standby } = await pair();
    const proxy = await startTcpProxy({ port: primary.port });
    const pool = new pg.Pool({ connectionString: proxy.through(primary.url), max: 6 });
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
    afterThisTest(() => pool.end());
    const db = pgStandalone(pool);
    const slowly = async () => {
      await new Promise((done) => setTimeout(done, 30));
      return completed();
    };
    const pay = counting('pay', slowly, { concurrency: 2 });
    const mail = counting('mail', slowly, { concurrency: 2, idempotency: 'none', onUnknown: 'ask-human' });
    const actor = { type: 'system', id: 'test' } as const;
    await inPgTransaction(pool, (tx) =>
      decideMany(
        tx,
        ['pay', 'mail'].flatMap((kind) =>
          Array.from({ length: 60 }, (_, n) => ({ key: `${kind}${n}`, actor, effects: [{ kind, payload: { n } }] })),
        ),
      ),
    );
    await follows(standby, primary);

    const events: RelayEvent[] = [];
    const place = { environment: 'production', endpoint: 'db.example:5432/shop' };
    const relay = createRelay({
      database: db,
      effects: [pay, mail],
      lease: 2_000,
      safetyPoll: 50,
      ...place,
      observer: (e) => events.push(e),
    });
    afterThisTest(() => relay.stop());
    await relay.start();
    await eventually(() => pay.calls.size >= 10 && mail.calls.size >= 10, { what: 'the first of both kinds' });

    process.kill(primary.pid, 'SIGQUIT');
    await primary.exited;
    await withClient(standby.url, (client) => client.query('select pg_promote(true, 60)'));
    const timeline = await withClient(standby.url, (c) =>
      c.query('select (comanda.fingerprint()).timeline, timeline_id from pg_control_checkpoint()'),
    );
    // Seen at once, before the control file tells it.
    expect(timeline.rows[0].timeline).toBe(2);
    proxy.redirect(standby.port);

    const states = async (kind: string): Promise<Record<string, number>> =>
      Object.fromEntries(
        (
          await withClient(standby.url, (c) =>
            c.query('select state, count(*)::int as n from comanda.effect_state where kind = $1 group by 1', [kind]),
          )
        ).rows.map((row: { state: string; n: number }) => [row.state, row.n]),
      );
    await eventually(async () => (await states('pay'))['completed'] === 60, {
      what: 'all kinds with a key',
      withinMs: 30_000,
    });
    const sent = mail.calls.size;
    // A lane whose claim was answered by nobody any more keeps its owner, and stands as sending, until somebody may look at it.
    const held = `select lane, owner, ready_at, attempt from comanda.lane where kind = 'mail' and owner is not null and ready_at > now()`;
    await eventually(async () => (await withClient(standby.url, (c) => c.query(held))).rows.length === 0, {
      what: 'the old leases ending',
      withinMs: 20_000,
    });
    expect((await states('mail'))['pending']).toBeGreaterThan(0);
    expect(mail.calls.size).toBe(sent);
    expect(relay.status().holds).toMatch(/timeline 2 and was adopted on 1.*kinds without a key wait/);

    await withClient(standby.url, (client) =>
      client.query(`select * from comanda.adopt('{"by":"ada","reason":"failover","acceptTimeline":true}')`),
    );
    await eventually(
      async () => {
        const now = await states('mail');
        return (now['completed'] ?? 0) + (now['unknown'] ?? 0) === 60;
      },
      { what: 'every mail having ended, or standing before a person', withinMs: 30_000 },
    );
    expect([...mail.calls.values()].filter((n) => n > 1)).toEqual([]);
    // What was under way when the primary died, and nothing else.
    expect((await states('mail'))['unknown'] ?? 0).toBeLessThanOrEqual(12);
    const unattended = await withClient(standby.url, (c) => c.query('select * from comanda.unattended'));
    expect(unattended.rows).toEqual([]);
    await relay.stop();
  });

  it('a relay on a standby says once that it can only be read, does nothing, and works when it is promoted', async () => {
    const { primary, standby } = await pair();
    await withClient(primary.url, (client) =>
      client.query(`select comanda.decide('{"key":"a","effects":[{"kind":"pay"}]}')`),
    );
    await follows(standby, primary);
    const pool = new pg.Pool({ connectionString: standby.url, max: 4 });
    pool.on('error', () => {});
    afterThisTest(() => pool.end());
    const pay = counting('pay');
    const events: RelayEvent[] = [];
    const relay = createRelay({
      database: pgStandalone(pool),
      effects: [pay],
      aiActions: 'enabled',
      safetyPoll: 50,
      observer: (e) => events.push(e),
    });
    afterThisTest(() => relay.stop());
    const started = relay.start();
    await eventually(() => relay.status().holds, { what: 'the relay holding' });
    const until = performance.now() + 2_500;
    await eventually(() => performance.now() > until, { what: 'more than two tries' });
    expect(events).toEqual([{ type: 'held', reason: expect.stringContaining('the server is read-only') }]);
    await withClient(standby.url, (client) => client.query('select pg_promote(true, 60)'));
    await started;
    await eventually(() => pay.calls.size === 1, { what: 'the effect' });
    await relay.stop();
  });
});
