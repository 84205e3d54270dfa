import { queryable } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { isComandaError } from '../../../src/kernel/errors.js';
import { migrate } from '../../../src/schema/migrate.js';
import { checkVersion, readInstalled, SCHEMA_VERSION } from '../../../src/schema/version.js';
import { type Engine, engine } from '../../sql/kit/engine.js';
import { printCatalog, readCatalog } from './catalog.js';
import { empty, failure } from './installations.js';

describe('G08: version skew between code and schema', () => {
  const version = (error: unknown): string =>
    isComandaError(error, 'COMANDA_SCHEMA_VERSION') ? error.message : `no version error: ${String(error)}`;

  test('nothing installed', async () => {
    const db = await empty();
    const s = queryable(await db.connect());
    expect(await readInstalled(s, 'comanda')).toBeUndefined();
    expect(isComandaError(await failure(checkVersion(s, 'comanda')), 'COMANDA_SCHEMA_MISSING')).toBe(true);
  });

  test('(1) an older schema is refused with one message that names both versions, and nothing is written', async () => {
    const s = await engine();
    await s.rows(`update comanda.installation set schema_version = ${SCHEMA_VERSION - 1}`);
    const before = await s.rows('select * from comanda.installation');
    const message = version(await failure(checkVersion(queryable(s.client), 'comanda')));
    expect(message).toContain(`version ${SCHEMA_VERSION - 1}`);
    expect(message).toContain(`needs ${SCHEMA_VERSION}`);
    expect(await s.rows('select * from comanda.installation')).toEqual(before);
  });

  /** What the next version of the schema might bring. */
  async function newer(s: Engine, compatibleFrom: number): Promise<void> {
    await s.client.query(`
      update comanda.installation set schema_version = ${SCHEMA_VERSION + 1}, compatible_from = ${compatibleFrom}, routines_sha256 = 'of the newer one';
      alter table comanda.run add column mood text;
      alter table comanda.lane add column weather text;
      alter table comanda.waiting drop constraint waiting_reason_check;
      alter table comanda.lane drop constraint lane_trouble_check;
      create function comanda.brand_new() returns int language sql return 1;`);
  }

  test('(2) a newer schema that accepts this build works, and states it does not know are left alone', async () => {
    const s = await engine();
    await newer(s, 1);
    expect(await checkVersion(queryable(s.client), 'comanda')).toMatchObject({
      schemaVersion: SCHEMA_VERSION + 1,
      compatibleFrom: 1,
    });
    await s.call('decide', {
      key: 'unknown states',
      effects: [
        { kind: 'other', name: 'quota', delayMs: 1 },
        { kind: 'other', name: 'limbo', orderingKey: 'limbo' },
      ],
    });
    await s.call('route', { relay: 'newer', leaseMs: 1000, kinds: [] });
    await s.client.query(`
      update comanda.waiting set reason = 'quota', next_at = now() - interval '1 hour';
      update comanda.lane set trouble = 'limbo', ready_at = 'infinity', parked_by = 'quota', parked_at = now(), weather = 'rain';`);
    const strange = () =>
      s.rows(
        `select (select jsonb_agg(w) from comanda.waiting w) as waiting, (select jsonb_agg(l) from comanda.lane l where lane = 'k:limbo') as lanes, (select jsonb_agg(a) from comanda.attempt a where false) as x`,
      );
    const before = await strange();
    await s.rows(`set statement_timeout = '20s'`);
    await s.call('sweep', { relay: 'r1' });
    await s.call('route', { relay: 'r1', leaseMs: 1000, kinds: [{ kind: 'other', lanes: 9 }] });
    expect(
      await s.call('claim', { relay: 'r1', leaseMs: 1000, kinds: [{ kind: 'other', lanes: 9, batch: 9 }] }),
    ).toEqual([]);
    expect(await strange()).toEqual(before);
  });

  test('(2) an older build that migrates a newer schema changes nothing', async () => {
    const s = await engine();
    await newer(s, 1);
    const all = async () => ({
      catalog: printCatalog(await readCatalog(s)),
      rows: await s.rows('select * from comanda.installation'),
    });
    const before = await all();
    expect(await migrate(queryable(await s.db.connect()), { environment: 'test' })).toMatchObject({
      from: SCHEMA_VERSION + 1,
      to: SCHEMA_VERSION + 1,
      applied: [],
      routines: false,
    });
    expect(await all()).toEqual(before);
  });

  test('(2) a newer schema that does not accept this build any more is refused, by migrate too', async () => {
    const s = await engine();
    await newer(s, SCHEMA_VERSION + 1);
    const before = await s.rows('select * from comanda.installation');
    const own = queryable(await s.db.connect());
    for (const refused of [() => checkVersion(own, 'comanda'), () => migrate(own)]) {
      const message = version(await failure(refused()));
      expect(message).toContain(`version ${SCHEMA_VERSION + 1}`);
      expect(message).toContain(`written for ${SCHEMA_VERSION}`);
    }
    expect(await s.rows('select * from comanda.installation')).toEqual(before);
  });
});
