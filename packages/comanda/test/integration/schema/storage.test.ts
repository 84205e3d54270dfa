import { createDatabase, queryable } from '@comanda/test-support';
import { describe, expect, test } from 'vitest';
import { migrate } from '../../../src/schema/migrate.js';
import { engine, engineOn } from '../../sql/kit/engine.js';
import { claim, decide, decideInOrder, ended, holes, route, settle, sweep } from '../../sql/kit/steps.js';
import { wholeCycle } from './cycle.js';

describe('G09: 2.1 billion of everything', () => {
  test('every sequence beyond 32 bits: decisions, repeats, a relay’s work, operators', async () => {
    const s = await engine();
    const sequences = await s.rows<{ name: string }>(
      `select format('%I.%I', schemaname, sequencename) as name from pg_sequences where schemaname = 'comanda'`,
    );
    expect(sequences.length).toBeGreaterThan(7);
    for (const { name } of sequences) await s.rows('select setval($1::regclass, 2147483640)', [name]);
    const decisions = Array.from({ length: 50 }, (_, i) => ({
      key: `k${i}`,
      effects: [
        { kind: 'mail', key: `explicit ${i}` },
        { kind: 'mail', name: 'b', orderingKey: `lane ${i % 5}` },
      ],
    }));
    for (const created of [true, false]) {
      const rows = await s.call<{ status: string; created: boolean }>('decide_many', decisions);
      expect(rows.every((row) => row.created === created)).toBe(true);
    }
    for (;;) {
      await route(s);
      const taken = await claim(s, { lanes: 3, batch: 50 });
      if (taken.length === 0) break;
      const lanes = [...new Set(taken.map((c) => c.lane))].map((lane) => taken.filter((c) => c.lane === lane));
      for (const of of lanes) expect(await settle(s, of[0], 'next', { ended: of.map((c) => ended(c)) })).toBe('ok');
    }
    expect(
      await s.row(
        `select count(*) as n, max(fence) > 2147483647 as beyond from comanda.outcome where state = 'completed'`,
      ),
    ).toEqual({ n: 100, beyond: true });
    expect(
      await s.row(
        'select max(id) > 2147483647 as runs, (select max(id) > 2147483647 from comanda.effect) as effects from comanda.run',
      ),
    ).toEqual({ runs: true, effects: true });
    await wholeCycle(s);
  });

  test('a repeated decision takes no number of an effect, a place or a fence', async () => {
    const s = await engine();
    await decide(s, 'k', [{ orderingKey: 'a' }, { name: 'b' }]);
    const numbers = () =>
      s.rows(
        `select last_value from comanda.effect_id union all select last_value from comanda.lane_position union all select last_value from comanda.fence`,
      );
    const before = await numbers();
    for (let i = 0; i < 5; i++) await decide(s, 'k', [{ orderingKey: 'a' }, { name: 'b' }]);
    for (let i = 0; i < 5; i++) await claim(s, { kinds: ['idle'] });
    expect(await numbers()).toEqual(before);
  });
});

describe('G10: keys are bytes', () => {
  const cafe = { composed: 'caf\u00e9', decomposed: 'cafe\u0301' };

  test('keys that differ in case, in normal form or by a space are different decisions, lanes and effect keys', async () => {
    const s = await engine();
    const keys = ['Key', 'key', 'KEY', cafe.composed, cafe.decomposed, 'key ', ' key', '\u212a', 'K'];
    for (const key of keys) await decide(s, key, [{ key: `e ${key}`, orderingKey: key }, { name: key }]);
    expect(await s.row('select count(*) as runs from comanda.run')).toEqual({ runs: keys.length });
    expect(await s.row('select count(*) as n from comanda.effect_key')).toEqual({ n: keys.length });
    await route(s);
    expect(await s.row(`select count(*) as n from comanda.lane where lane like 'k:%'`)).toEqual({ n: keys.length });
    for (const key of keys)
      expect(
        (
          await s.call<{ created: boolean }>('decide', {
            key,
            effects: [
              { kind: 'mail', key: `e ${key}`, orderingKey: key },
              { kind: 'mail', name: key },
            ],
          })
        )[0]?.created,
      ).toBe(false);
  });

  test('in a database whose own collation is another one', async () => {
    const made = await createDatabase({ template: false });
    const admin = await engineOn(made);
    const name = `${made.name}_icu`;
    await admin.rows(
      `create database ${name} template template0 encoding utf8 locale 'C' locale_provider icu icu_locale 'en-US'`,
    );
    const url = new URL(made.url);
    url.pathname = `/${name}`;
    const db = {
      ...made,
      url: url.href,
      connect: (config = {}) => made.connect({ connectionString: url.href, ...config }),
    };
    try {
      await migrate(queryable(await db.connect()));
      const s = await engineOn(db);
      expect(await s.row(`select 'a' < 'B' as linguistic`)).toEqual({ linguistic: true });
      for (const key of ['b', 'A', 'a', 'B', cafe.composed, cafe.decomposed])
        await decide(s, key, [{ orderingKey: key }]);
      await route(s);
      expect(
        (await s.rows<{ lane: string }>('select lane from comanda.lane order by lane')).map(({ lane }) =>
          lane.slice(2),
        ),
      ).toEqual(['A', 'B', 'a', 'b', cafe.decomposed, cafe.composed]);
      await wholeCycle(s);
      expect(
        await s.rows(`select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'comanda'::regnamespace and i.indisunique
        and exists (select from unnest(i.indcollation::oid[]) o where o not in (0, 950))`),
      ).toEqual([]);
    } finally {
      await admin.rows(`drop database ${name} with (force)`);
    }
  });
});

describe('G12: a publication for all tables', () => {
  test('breaks neither work nor housekeeping', async () => {
    const s = await engine();
    await s.client.query('create publication everything for all tables');
    await wholeCycle(s);
    await decideInOrder(s, 'a', 3);
    await route(s);
    const taken = await claim(s, { batch: 3 });
    expect(await settle(s, taken[0], 'next', { ended: taken.map((c) => ended(c)) })).toBe('ok');
    await s.rows(`update comanda.relay set beat_at = now() - interval '2 days'`);
    await sweep(s);
    expect(await s.row('select count(*) as n from comanda.relay')).toEqual({ n: 0 });
    await s.rows(`insert into comanda.audit (at, actor, act, subject) values ('2031-05-01Z', 'a', 'b', 'c')`);
    expect(await s.row(`select comanda.ensure_partitions('2031-05-15') as made`)).toEqual({ made: 9 });
    // What retention does: rows of every table go, whole months too.
    const tables = await s.rows<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c where c.relnamespace = 'comanda'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
    );
    expect(tables.length).toBeGreaterThan(25);
    for (const { name } of tables) await s.rows(`delete from ${name}`);
    await s.client.query(
      'alter table comanda.audit detach partition comanda.audit_203105; drop table comanda.audit_203105',
    );
  });
});

describe('T11: sessions in other time zones', () => {
  test('a moment is a moment: decided in New York, swept in Tokyo', async () => {
    const s = await engine();
    const newYork = await s.session();
    await newYork.rows(`set timezone = 'America/New_York'`);
    await newYork.rows(`set datestyle = 'SQL, DMY'`);
    const tokyo = await s.session();
    await tokyo.rows(`set timezone = 'Asia/Tokyo'`);
    const [id] = await decide(newYork, 'k', [{ dueAt: '2026-03-08T02:30:00-05:00' }]);
    expect(
      await s.row(`select next_at = '2026-03-08T07:30:00Z' as exact from comanda.waiting where effect_id = $1`, [id]),
    ).toEqual({ exact: true });
    const soon = await decide(newYork, 'soon', [{ delayMs: 3_600_000 }]);
    expect(
      await tokyo.row(
        `select extract(epoch from next_at - created_at)::int as seconds from comanda.waiting join comanda.effect e on e.id = effect_id where effect_id = $1`,
        soon,
      ),
    ).toEqual({ seconds: 3600 });
    await s.rows(`update comanda.waiting set next_at = clock_timestamp() - interval '1 second' where effect_id = $1`, [
      id,
    ]);
    expect(await sweep(tokyo)).toMatchObject({ moved: 1 });
    expect(await holes(tokyo)).toEqual([]);
  });

  test('leases, back-off and partitions do not depend on them', async () => {
    const s = await engine();
    await s.rows(`set timezone = 'Pacific/Kiritimati'`);
    await wholeCycle(s);
    await s.rows(`set timezone = 'America/Adak'`);
    await wholeCycle(s, 'again');
  });

  test.each([
    '2026-02-30T00:00:00Z',
    '2026-03-08T02:30:00',
    '2026-03-08',
    'tomorrow',
    '2026-13-01T00:00:00Z',
    '2026-03-08T25:00:00Z',
  ])('dueAt %s is refused', async (dueAt) => {
    const s = await engine();
    expect(
      await s.sqlstate('select * from comanda.decide($1::text::jsonb)', [
        JSON.stringify({ key: 'k', effects: [{ kind: 'mail', dueAt }] }),
      ]),
    ).toBe('CM002');
  });
});
