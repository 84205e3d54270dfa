import type { Session } from '../../sql/kit/engine.js';

/** One column of a table or view. */
export interface Column {
  readonly relation: string;
  readonly name: string;
  readonly type: string;
  readonly line: string;
  readonly comment: string | null;
}

/** One object of the schema, printed in one line. */
export interface Item {
  readonly relation: string;
  readonly name: string;
  readonly line: string;
  readonly comment: string | null;
}

/** What is installed in a schema, as the catalog tells it: the same on every supported version and under every name of the schema. */
export interface Catalog {
  /** Monthly partitions are left out: they depend on the date. */
  readonly tables: readonly Item[];
  readonly views: readonly Item[];
  readonly columns: readonly Column[];
  readonly constraints: readonly Item[];
  readonly indexes: readonly Item[];
  readonly triggers: readonly Item[];
  readonly sequences: readonly Item[];
  readonly functions: readonly Item[];
  readonly rights: readonly Item[];
  readonly schemaComment: string | null;
}

const OURS = `c.relnamespace = to_regnamespace($1) and not (c.relispartition and c.relname ~ '_[0-9]{6}$')`;

/** Reads the catalog. Names come without the schema; roles without their prefix. */
export async function readCatalog(s: Session, schema = 'comanda', rolePrefix = 'comanda'): Promise<Catalog> {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  await s.rows(`select set_config('search_path', $1, false)`, [quoted]); // so that the catalog prints names without the schema
  // Definitions of indexes and triggers name the schema all the same.
  const prefixes = [`${quoted}.`, `${schema}.`];
  const items = async (sql: string): Promise<Item[]> =>
    (await s.rows<Item>(sql, [quoted])).map((item) => ({
      ...item,
      line: prefixes.reduce((line, prefix) => line.replaceAll(prefix, ''), item.line),
    }));
  const catalog: Catalog = {
    tables:
      await items(`select c.relname as relation, c.relname as name, c.relname || case when c.relkind = 'p' then ' partitioned by ' || pg_get_partkeydef(c.oid) else '' end
        || case when c.relispartition then ' is the default partition' else '' end || coalesce(' with ' || array_to_string(c.reloptions, ', '), '') as line,
        case when c.relispartition then 'partition' else obj_description(c.oid, 'pg_class') end as comment
      from pg_class c where ${OURS} and c.relkind in ('r', 'p') order by 1`),
    views: await items(
      `select c.relname as relation, c.relname as name, c.relname as line, obj_description(c.oid, 'pg_class') as comment from pg_class c where ${OURS} and c.relkind = 'v' order by 1`,
    ),
    columns: await s.rows<Column>(
      `select c.relname as relation, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
          || case when l.collname not in ('default') then ' collate ' || quote_ident(l.collname) else '' end || case when a.attnotnull then ' not null' else '' end
          || case a.attidentity when 'a' then ' identity always' when 'd' then ' identity by default' else '' end || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line,
          col_description(c.oid, a.attnum) as comment
        from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum left join pg_collation l on l.oid = a.attcollation
        where ${OURS} and c.relkind in ('r', 'p', 'v') and not c.relispartition order by c.relname, a.attnum`,
      [quoted],
    ),
    constraints:
      await items(`select c.relname as relation, k.conname as name, k.conname || ' ' || pg_get_constraintdef(k.oid) as line, null as comment
      from pg_class c join pg_constraint k on k.conrelid = c.oid where ${OURS} and not c.relispartition and k.contype in ('c', 'p', 'u', 'f', 'x') order by c.relname, k.contype, k.conname`),
    indexes:
      await items(`select c.relname as relation, i.relname as name, replace(pg_get_indexdef(x.indexrelid), ' ON ONLY ', ' ON ') || coalesce(' collate ' || (
          select string_agg(quote_ident(l.collname), ', ' order by u.n) from unnest(x.indcollation::oid[]) with ordinality u (o, n) join pg_collation l on l.oid = u.o), '') as line, null as comment
      from pg_class c join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid where ${OURS} and not c.relispartition order by c.relname, i.relname`),
    triggers:
      await items(`select c.relname as relation, t.tgname as name, pg_get_triggerdef(t.oid) as line, null as comment
      from pg_class c join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal where ${OURS} order by c.relname, t.tgname`),
    sequences:
      await items(`select c.relname as relation, c.relname as name, c.relname || ' ' || format_type(s.seqtypid, null) || ' start ' || s.seqstart || ' increment ' || s.seqincrement || ' cache ' || s.seqcache
        || case when s.seqcycle then ' cycle' else '' end as line,
        case when exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i') then 'identity' else obj_description(c.oid, 'pg_class') end as comment
      from pg_class c join pg_sequence s on s.seqrelid = c.oid where ${OURS} order by c.relname`),
    functions:
      await items(`select p.proname as relation, p.proname as name, p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ') returns ' || pg_get_function_result(p.oid) || ' language ' || l.lanname
        || case p.provolatile when 'i' then ' immutable' when 's' then ' stable' else ' volatile' end || case when p.prosecdef then ' security definer' else '' end
        || coalesce(' set ' || array_to_string(p.proconfig, ' set '), '') as line, obj_description(p.oid, 'pg_proc') as comment
      from pg_proc p join pg_language l on l.oid = p.prolang where p.pronamespace = to_regnamespace($1) order by p.proname, pg_get_function_identity_arguments(p.oid)`),
    rights: (
      await items(`with granted as (
        select c.relname as name, 'relation' as what, g.grantee, g.privilege_type from pg_class c cross join lateral aclexplode(c.relacl) g where ${OURS}
        union all
        select c.relname || ' by column', 'relation', g.grantee, g.privilege_type from pg_class c join pg_attribute a on a.attrelid = c.oid cross join lateral aclexplode(a.attacl) g where ${OURS}
        union all
        select p.proname, 'function', g.grantee, g.privilege_type from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g where p.pronamespace = to_regnamespace($1)
        union all
        select 'the schema', 'schema', g.grantee, g.privilege_type from pg_namespace n cross join lateral aclexplode(n.nspacl) g where n.oid = to_regnamespace($1))
      select coalesce(r.rolname, 'PUBLIC') as relation, t.name, t.what || ' ' || t.name || ': ' || string_agg(distinct lower(t.privilege_type), ', ' order by lower(t.privilege_type)) as line, null as comment
      from granted t left join pg_roles r on r.oid = t.grantee
      where t.grantee <> (select nspowner from pg_namespace where oid = to_regnamespace($1)) group by 1, t.what, t.name order by 1, 3`)
    ).map((item) => ({
      ...item,
      relation: item.relation.startsWith(`${rolePrefix}_`) ? item.relation.slice(rolePrefix.length + 1) : item.relation,
    })),
    schemaComment: (
      await s.row<{ comment: string | null }>(
        `select obj_description(to_regnamespace($1), 'pg_namespace') as comment`,
        [quoted],
      )
    ).comment,
  };
  await s.rows('reset search_path');
  return catalog;
}

/** The catalog as a text that a reviewer can read and a test can compare. */
export function printCatalog(catalog: Catalog): string {
  const of = (items: readonly { relation: string; line: string }[], relation: string) =>
    items.filter((item) => item.relation === relation).map((item) => `  ${item.line}`);
  const relation = (kind: string) => (item: Item) => [
    `${kind} ${item.line}`,
    ...[catalog.columns, catalog.constraints, catalog.indexes, catalog.triggers].flatMap((items) =>
      of(items, item.name),
    ),
    '',
  ];
  const roles = [...new Set(catalog.rights.map((right) => right.relation))];
  return [
    '# What an installation looks like. Written by "npm run schema:snapshot"; a test compares it. Monthly partitions are left out.',
    '',
    ...catalog.tables.flatMap(relation('table')),
    ...catalog.views.flatMap(relation('view')),
    ...catalog.sequences.map((item) => `sequence ${item.line}`),
    '',
    ...catalog.functions.map((item) => `function ${item.line}`),
    '',
    ...roles.flatMap((role) => [`role ${role}`, ...of(catalog.rights, role), '']),
  ].join('\n');
}
