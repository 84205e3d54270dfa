import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { engine } from '../../sql/kit/engine.js';
import { printCatalog, readCatalog } from './catalog.js';
import { printReference } from './sql-reference.js';

const file = (path: string): string => fileURLToPath(new URL(`../../../../../${path}`, import.meta.url));

describe('what is installed', () => {
  // npm run schema:snapshot writes it.
  test('is what the snapshot says', async () => {
    await expect(printCatalog(await readCatalog(await engine()))).toMatchFileSnapshot(
      file('packages/comanda/sql/schema.snapshot.txt'),
    );
  });

  // npm run docs:sql writes it.
  test('is what the SQL reference says', async () => {
    await expect(printReference(await readCatalog(await engine()))).toMatchFileSnapshot(file('docs/reference/sql.md'));
  });

  test('has a comment on everything: schema, tables, columns, views, functions, sequences', async () => {
    const c = await readCatalog(await engine());
    const silent = (items: readonly { relation: string; name: string; comment: string | null }[]) =>
      items
        .filter(({ comment }) => (comment ?? '').trim() === '')
        .map(({ relation, name }) => (relation === name ? name : `${relation}.${name}`));
    expect(silent([...c.tables, ...c.views, ...c.columns, ...c.functions, ...c.sequences])).toEqual([]);
    expect(c.schemaComment).not.toBeNull();
    expect(c.columns.length).toBeGreaterThan(300);
  });

  test('asks a question in each of them', async () => {
    const c = await readCatalog(await engine());
    const flat = [...c.tables, ...c.columns, ...c.views].filter(
      ({ comment }) => comment !== 'partition' && !comment?.includes('?'),
    );
    expect(flat.map(({ relation, name, comment }) => `${relation}.${name}: ${comment}`)).toEqual([]);
  });

  test('G10: every text key of a unique index compares byte by byte', async () => {
    const s = await engine();
    const found = await s.rows(`select i.indexrelid::regclass::text as index, a.attname as column
      from pg_index i join pg_class c on c.oid = i.indrelid and c.relnamespace = 'comanda'::regnamespace
      cross join lateral unnest(i.indkey::int2[], i.indcollation::oid[]) u (attnum, collated_by)
      join pg_attribute a on a.attrelid = c.oid and a.attnum = u.attnum
      where i.indisunique and u.collated_by <> 0 and u.collated_by <> 'pg_catalog."C"'::regcollation`);
    expect(found).toEqual([]);
  });

  test('G09: every identifier is bigint or uuid, and every sequence counts in bigint without a cache', async () => {
    const c = await readCatalog(await engine());
    const ids = c.columns.filter(({ name }) =>
      /(^id|_id|^pos|^position|fence|_to|supersedes|superseded_by)$/.test(name),
    );
    const small = ids.filter(
      ({ type, name }) =>
        !['bigint', 'uuid'].includes(type) &&
        !(type === 'text' && /^(actor_id|aggregate_id|provider_id|order_id|id)$/.test(name)),
    );
    expect(small.map(({ relation, name, type }) => `${relation}.${name} ${type}`)).toEqual([]);
    expect(c.sequences.filter(({ line }) => !/ bigint .* cache 1$/.test(line))).toEqual([]);
  });

  test('T11: every moment has a time zone', async () => {
    const c = await readCatalog(await engine());
    const moments = c.columns.filter(({ name, type }) => /(^|_)at$|^since$/.test(name) || type.startsWith('timestamp'));
    expect(moments.filter(({ type }) => type !== 'timestamp with time zone')).toEqual([]);
    expect(moments.length).toBeGreaterThan(50);
  });

  test('every table has a primary key', async () => {
    const c = await readCatalog(await engine());
    const keyed = new Set(
      c.constraints.filter(({ line }) => line.includes(' PRIMARY KEY ')).map(({ relation }) => relation),
    );
    expect(c.tables.filter((table) => table.comment !== 'partition' && !keyed.has(table.name))).toEqual([]);
  });

  test('every function pins its search_path, or was bound to its objects when it was made', async () => {
    const s = await engine();
    const loose =
      await s.rows(`select p.proname from pg_proc p where p.pronamespace = 'comanda'::regnamespace and p.prosqlbody is null
      and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)`);
    expect(loose).toEqual([]);
  });
});
