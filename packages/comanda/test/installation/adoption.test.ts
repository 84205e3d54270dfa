import {
  afterThisTest,
  eventually,
  programPath,
  startEmbedded,
  type TestDatabase,
  withClient,
} from '@comanda/test-support';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import type { RelayEvent } from '../../src/index.js';
import { decideStandalone } from '../../src/index.js';
import { createRelay, type Relay } from '../../src/relay/index.js';
import { migrate } from '../../src/schema/migrate.js';
import { bench, counting } from '../relay/setup.js';
import { output, templateCopy } from './copies.js';

const EFFECTS = 20;

interface Worker {
  readonly relay: Relay;
  readonly events: RelayEvent[];
}

/** A relay on any database, ended after the test. */
function worker(
  database: Pick<TestDatabase, 'pool'>,
  effects: readonly ReturnType<typeof counting>[],
  place: { readonly environment?: string; readonly endpoint?: string } = {},
): Worker {
  const events: RelayEvent[] = [];
  const relay = createRelay({
    database: pgStandalone(database.pool(6)),
    effects,
    lease: 2_000,
    safetyPoll: 50,
    ...place,
    observer: (event) => events.push(event),
  });
  afterThisTest(() => relay.stop());
  return { relay, events };
}

const looked = async ({ relay }: Worker): Promise<void> => {
  // Long enough for several looks at the tables: each of them would have sent.
  const until = performance.now() + 700;
  await eventually(() => performance.now() > until && relay.status().sinceLastPollMs < 200, { what: 'several looks' });
};

const count = async (database: { readonly url: string }, state: string): Promise<number> =>
  await withClient(database.url, async (client) =>
    Number((await client.query('select count(*) as n from comanda.effect_state where state = $1', [state])).rows[0].n),
  );

const adopt = async (database: { readonly url: string }, request: Record<string, unknown> = {}): Promise<void> => {
  await withClient(database.url, (client) =>
    client.query('select * from comanda.adopt($1::text::jsonb)', [
      JSON.stringify({ by: 'ada', reason: 'it is the real one', ...request }),
    ]),
  );
};

async function original() {
  const b = await bench(2);
  for (let n = 0; n < EFFECTS; n += 1) await b.effect(`o${n}`, 'pay', n % 2 === 0 ? { orderingKey: `k${n % 3}` } : {});
  await b.pool.end();
  return b;
}

describe('P10: a copy never acts', () => {
  it.each<[string, { readonly environment?: string; readonly endpoint?: string }]>([
    ['configured as the original’s', {}],
    ['with the original’s environment and endpoint', { environment: 'test', endpoint: 'db.example:5432/shop' }],
    ['with another environment', { environment: 'staging' }],
  ])('a copy by template sends nothing until it is adopted: relays %s', async (_what, place) => {
    const b = await original();
    const copy = await templateCopy(b.database);
    const pay = counting('pay');
    const held = worker(copy, [pay], place);
    await held.relay.start();
    await looked(held);
    expect(pay.calls.size).toBe(0);
    expect(await count(copy, 'pending')).toBe(EFFECTS);
    expect(held.events.filter((event) => event.type === 'held')).toEqual([
      { type: 'held', reason: expect.stringMatching(/not the adopted one: .*a copy, or moved.*comanda adopt/) },
    ]);
    expect(held.relay.status().holds).toMatch(/copy/);
    const attention = await withClient(copy.url, (client) =>
      client.query('select what, reason from comanda.attention'),
    );
    expect(attention.rows).toContainEqual({ what: 'not adopted', reason: expect.stringContaining('a copy, or moved') });
    const relays = await withClient(copy.url, (client) =>
      client.query('select environment, endpoint, holds from comanda.relay'),
    );
    expect(relays.rows).toEqual([
      { environment: null, endpoint: null, ...place, holds: expect.stringContaining('a copy, or moved') },
    ]);

    await adopt(copy, place.environment === undefined ? {} : { environment: place.environment });
    await eventually(async () => (await count(copy, 'completed')) === EFFECTS, { what: 'the adopted copy working' });
    expect([...pay.calls.values()].every((n) => n === 1)).toBe(true);
    await eventually(() => held.events.filter((event) => event.type === 'resumed').length === 1, {
      what: 'the relay saying that it goes on',
    });
    const audit = await withClient(copy.url, (client) =>
      client.query(
        `select actor, reason, detail -> 'from' ->> 'database_oid' as was from comanda.audit where act = 'adopt'`,
      ),
    );
    expect(audit.rows).toEqual([{ actor: 'ada', reason: 'it is the real one', was: expect.stringMatching(/^\d+$/) }]);
    // The original is what it was.
    expect(await count(b.database, 'pending')).toBe(EFFECTS);
  });

  it('a dump restored on another server sends nothing until it is adopted, whatever its relays are configured for', async (context) => {
    if (programPath('pg_dump') === undefined || programPath('psql') === undefined)
      context.skip('pg_dump is not installed. To run this test: apt-get install postgresql-client');
    // The oldest server: any pg_dump can read it.
    const [from, to] = await Promise.all([15, 15].map(() => startEmbedded({ ephemeral: true, version: '15' })));
    if (from === undefined || to === undefined) throw new Error('no server');
    afterThisTest(async () => void (await Promise.all([from.stop(), to.stop()])));
    await withClient(from.url, async (client) => {
      await migrate(pgStandalone(client), { environment: 'production' });
      for (let n = 0; n < EFFECTS; n += 1)
        await decideStandalone(pgStandalone(client), {
          key: `o${n}`,
          actor: { type: 'system', id: 't' },
          effects: [{ kind: 'pay', payload: {} }],
        });
    });
    const roles = ['app', 'relay', 'approver', 'operator', 'reader'].map((role) => `create role comanda_${role};`);
    await output('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', to.url], roles.join('\n'));
    await output('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', to.url], await output('pg_dump', [from.url]));
    const pools: pg.Pool[] = [];
    const restored = {
      url: to.url,
      pool: (max?: number) => {
        const pool = new pg.Pool({ connectionString: to.url, ...(max === undefined ? {} : { max }) });
        pool.on('error', () => {});
        pools.push(pool);
        return pool;
      },
    };
    const pay = counting('pay');
    const workers = [
      worker(restored, [pay], { environment: 'production' }),
      worker(restored, [pay], { environment: 'staging' }),
      worker(restored, [pay]),
    ];
    for (const { relay } of workers) await relay.start();
    for (const one of workers) await looked(one);
    expect(pay.calls.size).toBe(0);
    expect(await count(to, 'pending')).toBe(EFFECTS);
    // Migrating is not adopting: a deployment that migrates first changes nothing.
    await withClient(to.url, async (client) => {
      await expect(migrate(pgStandalone(client), { environment: 'staging' })).rejects.toMatchObject({
        code: 'COMANDA_NOT_ADOPTED',
      });
      await migrate(pgStandalone(client));
      await migrate(pgStandalone(client), { environment: 'production' });
    });
    await looked(workers[0] as Worker);
    expect(pay.calls.size).toBe(0);

    await adopt(to, { environment: 'staging' });
    await eventually(async () => (await count(to, 'completed')) === EFFECTS, { what: 'the adopted copy working' });
    // The relay of production still holds here, and is listed with the reason.
    await eventually(
      () => workers[0]?.relay.status().holds?.includes('"staging", and this relay is configured for "production"'),
      { what: 'the relay of production holding' },
    );
    await eventually(
      async () => {
        const { rows } = await withClient(to.url, (client) =>
          client.query(`select reason from comanda.attention where what = 'a relay holds'`),
        );
        expect(rows).toEqual([
          { reason: expect.stringContaining(`${workers[0]?.relay.id}: it belongs to the environment "staging"`) },
        ]);
        return true;
      },
      { what: 'one relay being listed' },
    );
    for (const { relay } of workers) await relay.stop();
    await Promise.all(pools.map((pool) => pool.end()));
  });

  it('a physical copy is recognised by the environment or the endpoint that its relays are configured with', async () => {
    const b = await bench(4);
    const pay = counting('pay');
    const first = worker(b.database, [pay], { environment: 'test', endpoint: 'db.example:5432/shop' });
    await first.relay.start();
    await b.effect('a', 'pay');
    await eventually(async () => (await count(b.database, 'completed')) === 1, { what: 'the first' });
    await first.relay.stop();
    expect(await b.rows('select endpoint from comanda.installation')).toEqual([{ endpoint: 'db.example:5432/shop' }]);
    // From here on server, database and timeline are those of the original, as in a copy of its disk.
    await b.effect('b', 'pay');
    const copies = [
      worker(b.database, [pay], { environment: 'staging', endpoint: 'db.example:5432/shop' }),
      worker(b.database, [pay], { environment: 'test', endpoint: 'copy.example:5432/shop' }),
    ];
    for (const { relay } of copies) await relay.start();
    for (const one of copies) await looked(one);
    expect(copies.map(({ relay }) => relay.status().holds)).toEqual([
      expect.stringContaining('it belongs to the environment "test", and this relay is configured for "staging"'),
      expect.stringContaining(
        'it was adopted as db.example:5432/shop, and this relay reaches it as copy.example:5432/shop',
      ),
    ]);
    expect(await count(b.database, 'pending')).toBe(1);
    await adopt(b.database, { endpoint: ['db.example:5432/shop', 'copy.example:5432/shop'] });
    await eventually(async () => (await count(b.database, 'completed')) === 2, { what: 'the second place working' });
    expect(copies[0]?.relay.status().holds).toMatch(/staging/);
  });

  it('while it holds, decisions are recorded and what is due takes its place', async () => {
    const b = await bench();
    await b.rows('update comanda.installation set database_oid = 1');
    const pay = counting('pay');
    await b.relay({ effects: [pay] }).start();
    expect(await b.effect('now', 'pay')).toMatchObject({ created: true });
    await b.effect('later', 'pay', { delayMs: 1 });
    await eventually(async () => (await b.rows('select from comanda.waiting')).length === 0, {
      what: 'the delayed effect being due',
    });
    expect(await b.states()).toEqual({ 'now/pay': 'pending', 'later/pay': 'pending' });
    expect(await b.unattended()).toBe(0);
  });

  it('what was taken before it became another installation is not sent after', async () => {
    const b = await bench();
    await b.effect('a', 'pay');
    const [lane] = await b.rows<{ lane: string; fence: string; effect_id: string }>(
      `select lane, fence::text, effect_id::text from comanda.route('{"relay":"r","leaseMs":30000,"kinds":[{"kind":"pay","lanes":1}]}')`,
    );
    const ask = (more: object = {}) =>
      b.rows<{ answer: string }>('select answer from comanda.may_send($1::text::jsonb)', [
        JSON.stringify({
          relay: 'r',
          floor: 'none',
          items: [{ lane: lane?.lane, fence: lane?.fence, effect: lane?.effect_id, attempt: 1, needMs: 1 }],
          ...more,
        }),
      ]);
    expect(await ask({ environment: 'test' })).toEqual([{ answer: 'go' }]);
    expect(await ask({ environment: 'staging' })).toEqual([{ answer: 'off:all' }]);
    await b.rows('update comanda.installation set system_identifier = 1');
    expect(await ask({ environment: 'test' })).toEqual([{ answer: 'off:all' }]);
    await b.rows('alter table comanda.installation rename to was_installation');
    await expect(ask()).rejects.toThrow('does not exist');
  });
});

describe('adopt', () => {
  it.each([
    [{ by: 'ada' }, 'CM013'],
    [{ reason: 'x' }, 'CM013'],
    [{ by: 'ada', reason: 'x', environment: 'two words' }, 'CM009'],
    [{ by: 'ada', reason: 'x', environment: '' }, 'CM009'],
    [{ by: 'ada', reason: 'x', endpoint: 'user:secret@host:5432/db' }, 'CM009'],
    [{ by: 'ada', reason: 'x', endpoint: ['a b'] }, 'CM009'],
  ])('refuses %j', async (request, sqlstate) => {
    const b = await bench(2);
    await expect(
      b.rows('select * from comanda.adopt($1::text::jsonb)', [JSON.stringify(request)]),
    ).rejects.toMatchObject({ code: sqlstate });
  });

  it('refuses an installation that has no environment name yet, and a timeline that nobody accepted', async () => {
    const b = await bench(2);
    await b.rows(`update comanda.installation set environment = 'unset'`);
    await expect(adopt(b.database)).rejects.toMatchObject({ code: 'CM009' });
    await adopt(b.database, { environment: 'test' });
    await b.rows('update comanda.installation set timeline = 77');
    await expect(adopt(b.database)).rejects.toMatchObject({ code: 'CM012', message: expect.stringContaining('77') });
    await adopt(b.database, { acceptTimeline: true });
    expect(await b.rows('select wrong, moved from comanda.adoption(null)')).toEqual([{ wrong: null, moved: null }]);
    await b.rows('update comanda.installation set timeline = null');
    await expect(adopt(b.database), 'one that could not be read before').rejects.toMatchObject({ code: 'CM012' });
  });

  it('raises the sequences above everything stored: logical replication does not copy them', async () => {
    const b = await bench(2);
    await b.effect('x', 'pay');
    await b.rows(`update comanda.effect_arrival set id = 5000000`);
    await b.rows(
      `insert into comanda.outcome (effect_id, fence, state, settled_by, attempts) values (7, 9000000, 'completed', 'r', 1)`,
    );
    await b.rows(`select setval('comanda.fence', 1, false), setval('comanda.lane_position', 1, false)`);
    await adopt(b.database);
    const [next] = await b.rows<{ fence: string; place: string }>(
      `select nextval('comanda.fence') as fence, nextval('comanda.lane_position') as place`,
    );
    expect(Number(next?.fence)).toBeGreaterThan(9_000_000);
    expect(Number(next?.place)).toBeGreaterThan(5_000_000);
  });
});

describe('a changed timeline alone', () => {
  it('lets kinds with a key go on and holds the others until it is adopted', async () => {
    const b = await bench();
    const kinds = [
      counting('keyed'),
      counting('natural', undefined, { idempotency: 'natural' }),
      counting('none', undefined, { idempotency: 'none', onUnknown: 'ask-human' }),
    ];
    await b.rows('update comanda.installation set timeline = 77');
    for (const kind of ['keyed', 'natural', 'none']) await b.effect(kind, kind);
    const relay = b.relay({ effects: kinds, environment: 'test' });
    await relay.start();
    await eventually(async () => (await b.states())['keyed/keyed'] === 'completed', { what: 'the keyed effect' });
    await looked({ relay, events: relay.events });
    expect(await b.states()).toEqual({
      'keyed/keyed': 'completed',
      'natural/natural': 'pending',
      'none/none': 'pending',
    });
    expect(relay.status().holds).toMatch(/timeline .* adopted on 77.*kinds without a key wait/);
    await adopt(b.database, { acceptTimeline: true });
    await eventually(async () => Object.values(await b.states()).every((state) => state === 'completed'), {
      what: 'the others',
    });
    expect(await b.unattended()).toBe(0);
  });
});
