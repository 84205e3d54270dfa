import { createDatabase, needPgbouncer, needService, startPgbouncer, withClient } from '@comanda/test-support';
import pg from 'pg';
import { afterEach, describe, expect, it, vi } from 'vitest';

describe('PgBouncer', () => {
  it('hands out server connections per transaction', async (context) => {
    needPgbouncer(context);
    const database = await createDatabase({ template: false });
    const bouncer = await startPgbouncer({ url: database.url, poolSize: 1 });
    const backend = async (client: pg.Client) => (await client.query('select pg_backend_pid() as pid')).rows[0].pid;
    const [a, b] = await Promise.all([1, 2].map(() => connect(bouncer.url)));
    if (!a || !b) throw new Error('two clients were expected');
    expect(await backend(a)).toBe(await backend(b));
    await a.query('begin');
    await a.query('select 1');
    const waiting = backend(b);
    await a.query('commit');
    expect(await waiting).toBe(await backend(a));
    await a.end();
    await b.end();
    await bouncer.stop();
    await expect(withClient(bouncer.url, async () => {})).rejects.toThrow('ECONNREFUSED');
  });
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

describe('a missing service', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });
  const skipped: string[] = [];
  const context = { skip: (reason: string) => void skipped.push(reason) };

  it('skips the test and says what to install', () => {
    vi.stubEnv('COMANDA_REQUIRE', 'redis');
    needService(context, 'pgbouncer', false, 'apt-get install pgbouncer');
    expect(skipped).toEqual(['pgbouncer is not installed. To run this test: apt-get install pgbouncer']);
    needService(context, 'pgbouncer', true, 'apt-get install pgbouncer');
    expect(skipped).toHaveLength(1);
  });

  it('fails the test when it is required', () => {
    vi.stubEnv('COMANDA_REQUIRE', 'redis, pgbouncer');
    expect(() => needService(context, 'pgbouncer', false, 'apt-get install pgbouncer')).toThrow('COMANDA_REQUIRE');
  });
});
