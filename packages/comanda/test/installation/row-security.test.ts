import { afterThisTest, createDatabase, eventually, type TestDatabase, withClient } from '@comanda/test-support';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { inPgTransaction, pgStandalone } from '../../src/adapters/pg/index.js';
import { decide, type RelayEvent } from '../../src/index.js';
import { createRelay, type Relay } from '../../src/relay/index.js';
import { migrate } from '../../src/schema/migrate.js';
import { loginRole, temporaryRoles } from '../integration/schema/temporary-roles.js';
import { counting } from '../relay/setup.js';

const DOORS = ['app', 'relay', 'operator', 'reader'] as const;
type Login = (typeof DOORS)[number] | 'owner';

interface Place {
  readonly db: TestDatabase;
  /** Logins, one for each role; none of them is a superuser or has a right on the schema public. */
  readonly as: (login: Login) => pg.Pool;
  readonly admin: (sql: string) => Promise<void>;
  readonly url: Record<Login, string>;
}

/** An installation whose owner is bound by row-level security as everybody is. */
async function place(): Promise<Place> {
  const prefix = temporaryRoles();
  const db = await createDatabase({ template: false });
  const admin = (sql: string): Promise<void> =>
    withClient(db.url, async (client) => {
      await client.query(sql);
    });
  const url: Record<string, string> = { owner: await loginRole(`${prefix}_owner`, db.url, 'createrole') };
  await admin(
    `alter database ${pg.escapeIdentifier(db.name)} owner to ${prefix}_owner; revoke all on schema public from public`,
  );
  await withClient(url['owner'] ?? '', (client) =>
    migrate(pgStandalone(client), { rolePrefix: prefix, environment: 'test' }),
  );
  for (const door of DOORS) {
    url[door] = await loginRole(`${prefix}_login_${door}`, db.url);
    await admin(`grant ${prefix}_${door} to ${prefix}_login_${door}`);
  }
  const pools = new Map<Login, pg.Pool>();
  return {
    db,
    admin,
    url: url as Record<Login, string>,
    as: (login) => {
      const pool = pools.get(login) ?? db.pool(6, { connectionString: url[login] ?? '' });
      pools.set(login, pool);
      return pool;
    },
  };
}

function work(p: Place): {
  readonly relay: Relay;
  readonly pay: ReturnType<typeof counting>;
  readonly events: RelayEvent[];
} {
  const events: RelayEvent[] = [];
  const pay = counting('pay');
  const relay = createRelay({
    database: pgStandalone(p.as('relay')),
    effects: [pay],
    lease: 2_000,
    safetyPoll: 50,
    observer: (event) => events.push(event),
  });
  afterThisTest(() => relay.stop());
  return { relay, pay, events };
}

const hidden = async (p: Place, login: Login) =>
  (await p.as(login).query(`select reason, what_to_do from comanda.attention where what = 'rows are hidden'`)).rows;

const decision = (key: string) =>
  `select * from comanda.decide('{"key":"${key}","actor":{"type":"system","id":"t"},"effects":[{"kind":"pay","payload":{}}]}')`;

/** A place with one decision that nobody has executed. */
async function waiting(): Promise<Place> {
  const p = await place();
  await p.as('app').query(decision('a'));
  return p;
}

describe('row-level security', () => {
  it('G04: on the users’ own tables: decided with the change, executed, operated and read by logins without rights on public', async () => {
    const p = await place();
    const { relay, pay } = work(p);
    await p.admin(`create schema shop;
      create table shop.orders (id text primary key, tenant text not null, state text not null);
      insert into shop.orders values ('mine', 'a', 'paid'), ('theirs', 'b', 'paid');
      grant usage on schema shop to public; grant select, update on shop.orders to public;
      alter table shop.orders enable row level security, force row level security;
      create policy own on shop.orders using (tenant = current_setting('shop.tenant', true))`);
    const refund = (order: string) =>
      inPgTransaction(p.as('app'), async (tx, client) => {
        await client.query(`select set_config('shop.tenant', 'a', true)`);
        const { rowCount } = await client.query(`update shop.orders set state = 'refunded' where id = $1`, [order]);
        if (rowCount !== 1) throw new Error(`no order ${order}`);
        return await decide(tx, {
          key: `refund:${order}`,
          actor: { type: 'system', id: 't' },
          effects: [{ kind: 'pay', payload: {} }],
        });
      });
    expect(await refund('mine')).toMatchObject({ created: true });
    await expect(refund('theirs')).rejects.toThrow('no order theirs');
    await relay.start();
    await eventually(() => pay.calls.size === 1, { what: 'the effect' });
    const status = async () =>
      (await p.as('reader').query('select idempotency_key as key, status from comanda.outbox')).rows;
    await eventually(async () => (await status())[0]?.status === 'done', { what: 'its outcome' });
    expect(await status()).toEqual([{ key: 'refund:mine/pay', status: 'done' }]);
    await p
      .as('operator')
      .query(`select * from comanda.switch_set('{"scope":"all","mode":"stop","by":"ada","reason":"drill"}')`);
    expect(await hidden(p, 'operator')).toEqual([]);
    await expect(p.as('reader').query(decision('no'))).rejects.toMatchObject({ code: '42501' });
    await relay.stop();
  });

  it.each(['lane', 'relay', 'outcome', 'effect_kind', 'switch', 'effect_queue'])(
    'forced on %s: no start; at work nothing more is sent, the relay and attention say why, a migration refuses; switched off, it goes on',
    async (table) => {
      const p = await place();
      const force = () => p.admin(`alter table comanda.${table} enable row level security, force row level security`);
      const named = { code: 'COMANDA_ROWS_HIDDEN', message: expect.stringContaining(`comanda.${table}`) };
      await force();
      await expect(work(p).relay.start()).rejects.toMatchObject(named);
      await expect(withClient(p.url.owner, (client) => migrate(pgStandalone(client)))).rejects.toMatchObject(named);
      const [advice] = await hidden(p, 'reader');
      expect(advice).toEqual({
        reason: expect.stringContaining(`hides rows of comanda.${table} from the functions`),
        what_to_do: `alter table comanda.${table} disable row level security, no force row level security`,
      });
      await p.admin(advice.what_to_do);

      const { relay, pay } = work(p);
      await relay.start();
      await force();
      await p.as('app').query(decision('a'));
      await eventually(() => relay.status().holds?.includes(`hides rows of comanda.${table} `), {
        what: 'the relay saying why it holds',
      });
      expect(pay.calls.size).toBe(0);
      await p.admin(advice.what_to_do);
      await eventually(() => pay.calls.size === 1, { what: 'the effect', withinMs: 20_000 });
      expect(await hidden(p, 'operator')).toEqual([]);
      await relay.stop();
      expect([...pay.calls.values()]).toEqual([1]);
    },
    60_000,
  );

  it('forced on run: a decision fails loudly, and leaves nothing', async () => {
    const p = await place();
    await p.admin('alter table comanda.run enable row level security, force row level security');
    await expect(p.as('app').query(decision('a'))).rejects.toMatchObject({
      code: '42501',
      message: /row-level security policy for table "run"/,
    });
    await p.admin('alter table comanda.run no force row level security');
    await p.as('app').query(decision('a'));
  });

  it('only enabled, the functions see everything; who reads a table directly is told, unless a policy says who reads what', async () => {
    const p = await waiting();
    await p.admin(
      'alter table comanda.lane enable row level security; alter table comanda.effect enable row level security',
    );
    const { relay, pay } = work(p);
    await relay.start();
    await eventually(() => pay.calls.size === 1, { what: 'the effect' });
    expect((await p.as('reader').query('select from comanda.effect')).rowCount).toBe(0);
    expect((await p.as('reader').query('select from comanda.outbox')).rowCount).toBe(1);
    expect((await hidden(p, 'reader')).map((row) => row.reason)).toEqual([
      'row-level security is on for comanda.effect, without a policy: who reads it directly sees no row',
      'row-level security is on for comanda.lane, without a policy: who reads it directly sees no row',
    ]);
    await p.admin(
      'create policy everybody on comanda.effect for select using (true); create policy everybody on comanda.lane for select using (true)',
    );
    expect(await hidden(p, 'reader')).toEqual([]);
    await withClient(p.url.owner, (client) => migrate(pgStandalone(client)));
    await relay.stop();
  });

  it('enabled on installation: a relay refuses to start with the name of the table, not with a missing schema', async () => {
    const p = await waiting();
    await p.admin('alter table comanda.installation enable row level security');
    const { relay } = work(p);
    await expect(relay.start()).rejects.toMatchObject({
      code: 'COMANDA_ROWS_HIDDEN',
      message: expect.stringContaining('comanda.installation'),
    });
  });
});
