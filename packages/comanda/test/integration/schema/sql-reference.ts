import type { Catalog, Item } from './catalog.js';

/** Who calls a function is who may: the role of the door. */
const DOORS: readonly [role: string, title: string, about: string][] = [
  [
    'app',
    'Functions for callers',
    'Called inside the caller’s own transaction, so that the decision commits with the caller’s own change or not at all.',
  ],
  ['operator', 'Functions for operators', 'Every call names who acts and why, and is on record in `audit`.'],
  [
    'relay',
    'Functions for relays',
    'What the relay calls, and what a relay in another language would call. Each is one statement, and none waits for a row that somebody else holds.',
  ],
];

const cell = (text: string | null): string => (text ?? '').replaceAll('|', '\\|').replaceAll('\n', ' ');

/** The reference of the SQL surface, made of the comments in the database. */
export function printReference(catalog: Catalog): string {
  const mayCall = (role: string, fn: Item) =>
    catalog.rights.some((r) => r.relation === role && r.line.startsWith('function ') && r.name === fn.name);
  const listed = new Set<string>();
  const functions = (role: string): string[] =>
    catalog.functions.flatMap((fn) => {
      if (!mayCall(role, fn) || listed.has(fn.name)) return [];
      listed.add(fn.name);
      const [, parameters = '', result = ''] = /^\w+\((.*?)\) returns (.*?) language /.exec(fn.line) ?? [];
      return [
        `### ${fn.name}`,
        '',
        '```',
        `${fn.name}(${parameters})`,
        `  returns ${result}`,
        '```',
        '',
        fn.comment ?? '',
        '',
      ];
    });
  const relation = (item: Item): string[] => [
    `### ${item.name}`,
    '',
    item.comment ?? '',
    '',
    '| column | type | question |',
    '|---|---|---|',
    ...catalog.columns
      .filter((c) => c.relation === item.name)
      .map((c) => `| \`${c.name}\` | ${cell(c.type)} | ${cell(c.comment)} |`),
    '',
  ];
  const text = [
    '# SQL reference',
    '',
    '<!-- Made by "npm run docs:sql" from the comments in packages/comanda/sql/views/90_comments.sql; a test compares it. -->',
    '',
    catalog.schemaComment ?? '',
    '',
    'Everything is in the schema `comanda`, or the one that was named at installation. Each function takes one `jsonb` parameter, unless shown otherwise; pass it as `$1::text::jsonb`, which',
    'every driver encodes the same way. What a function refuses it raises with an SQLSTATE of class `CM`. The same texts are in the database: `\\df+ comanda.*` and `\\d+ comanda.run` show them.',
    '',
    ...DOORS.flatMap(([role, title, about]) => [`## ${title}`, '', about, '', ...functions(role)]),
    '## Views',
    '',
    ...catalog.views.flatMap(relation),
    '## Tables',
    '',
    'For reading and for repair by hand; the functions are the way to change them. Times are `timestamp with time zone`; keys compare byte by byte.',
    '',
    ...catalog.tables.filter((table) => table.comment !== 'partition').flatMap(relation),
  ];
  return `${text.join('\n').trimEnd()}\n`;
}
