import { readFileSync } from 'node:fs';
import { afterThisTest, createDatabase, eventually } from '@comanda/test-support';
import { expect, it } from 'vitest';
import { pgStandalone } from '../../src/adapters/pg/index.js';
import { absent, completed } from '../../src/index.js';
import { createRelay } from '../../src/relay/index.js';
import { migrate } from '../../src/schema/migrate.js';
import { checkVersion, SCHEMA_VERSION } from '../../src/schema/version.js';
import { printCatalog, readCatalog } from '../integration/schema/catalog.js';
import { counting } from '../relay/setup.js';
import { engine, engineOn } from '../sql/kit/engine.js';

const SCHEMA_1 = readFileSync(new URL('./schema-1.sql', import.meta.url), 'utf8');

it('G08: an installation of schema 1 with unfinished work is migrated, is what a new one is, and goes on', async () => {
  const db = await createDatabase({ template: false });
  const old = await db.connect();
  await old.query('create schema comanda');
  await old.query(SCHEMA_1);
  const s = await engineOn(db);
  const decide = (key: string, effect: object) =>
    s.call('decide', { key, actor: { type: 'system', id: 'old' }, effects: [{ kind: 'pay', ...effect }] });
  await decide('ended', {});
  await decide('leased', { orderingKey: 'a' });
  await decide('behind', { orderingKey: 'a' });
  await decide('delayed', { delayMs: 1 });
  const route = { relay: 'old', leaseMs: 300, batch: 500, kinds: [{ kind: 'pay', lanes: 10 }] };
  const rows = await s.call<{ lane: string; fence: number; pos: number; effect_id: number }>('route', route);
  const [first] = rows;
  await s.call('settle', {
    relay: 'old',
    leaseMs: 300,
    lanes: [
      {
        lane: first?.lane,
        fence: first?.fence,
        mode: 'next',
        ended: [{ pos: first?.pos, effect: first?.effect_id, attempt: 1, state: 'completed', outcome: 'completed' }],
      },
    ],
  });
  await decide('arrived', {});
  const pool = db.pool(6);
  await expect(checkVersion(pgStandalone(pool), 'comanda')).rejects.toMatchObject({ code: 'COMANDA_SCHEMA_VERSION' });

  expect(await migrate(pgStandalone(await db.connect()), { environment: 'production' })).toMatchObject({
    from: 1,
    to: SCHEMA_VERSION,
  });
  expect(printCatalog(await readCatalog(s))).toBe(printCatalog(await readCatalog(await engine())));
  expect(await s.rows('select environment, adopted_by from comanda.installation')).toEqual([
    { environment: 'production', adopted_by: 'migrate' },
  ]);
  // What the old build's relays call goes on being answered.
  expect(await s.call('relay_beat', { relay: 'old', kinds: ['pay'], switchVersion: 1 })).toHaveLength(1);
  const pay = counting('pay', () => completed(), { reconcile: async () => absent() });
  const relay = createRelay({
    database: pgStandalone(pool),
    effects: [pay],
    environment: 'production',
    safetyPoll: 50,
  });
  afterThisTest(() => relay.stop());
  await relay.start();
  await eventually(
    async () => (await s.rows(`select from comanda.effect_state where state <> 'completed'`)).length === 0,
    { what: 'everything being done', withinMs: 20_000 },
  );
  expect([...pay.calls.keys()].sort()).toEqual(['arrived/pay', 'behind/pay', 'delayed/pay', 'leased/pay']);
  expect(await s.rows('select * from comanda.unattended')).toEqual([]);
  await relay.stop();
});
